! SPDX-License-Identifier: LGPL-2.1-or-later
! SPDX-FileCopyrightText: 2026 The live-unwinder authors

! Recursion, matrices, sorting and formatted output.
program work
  implicit none
  real(8), allocatable :: a(:, :), b(:, :), c(:, :)
  integer :: i
  character(len=64) :: text
  allocate (a(200, 200), b(200, 200))
  call random_number (a)
  call random_number (b)
  do i = 1, 12
    c = matmul (a, transpose (b))
    write (text, '(f20.6, i8)') sum (sin (c)), fibonacci (24)
  end do
  print '(a)', trim (text)
contains
  recursive function fibonacci (n) result (r)
    integer, intent(in) :: n
    integer :: r
    if (n < 2) then
      r = n
    else
      r = fibonacci (n - 1) + fibonacci (n - 2)
    end if
  end function fibonacci
end program work

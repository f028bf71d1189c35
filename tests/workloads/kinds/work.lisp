; SPDX-License-Identifier: LGPL-2.1-or-later
; SPDX-FileCopyrightText: 2026 The live-unwinder authors

; Recursion, sorting with a function, text and conditions.
(defun fibonacci (n) (if (< n 2) n (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))
(defun words (n) (loop for i below n collect (format nil "word~d" (mod (* i 7919) 1009))))
(let ((sum 0))
  (dotimes (i 10)
    (incf sum (+ (fibonacci 24) (length (sort (words 2000) #'string>))))
    (handler-case (error "deep") (error () (incf sum))))
  (print sum))

; SPDX-License-Identifier: LGPL-2.1-or-later
; SPDX-FileCopyrightText: 2026 The live-unwinder authors

; Recursion, sorting with a function and text.
(define (fibonacci n) (if (< n 2) n (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))
(define (words n) (map (lambda (i) (string-upcase (number->string (modulo (* i 7919) 1009)))) (iota n)))
(define (once sum) (+ sum (fibonacci 22) (length (sort (words 2000) string>?))))
(let loop ((i 0) (sum 0))
  (if (< i 10) (loop (+ i 1) (once sum)) (begin (display sum) (newline))))

-- SPDX-License-Identifier: LGPL-2.1-or-later
-- SPDX-FileCopyrightText: 2026 The live-unwinder authors

-- Recursion, maps and lazy lists.
module Main (main) where

import Data.List (foldl', sortBy)
import qualified Data.Map as Map

fibonacci :: Int -> Integer
fibonacci n = if n < 2 then toInteger n else fibonacci (n - 1) + fibonacci (n - 2)

text :: Int -> Map.Map String Int
text n = foldl' (\names word -> Map.insertWith (+) word 1 names) Map.empty
  (sortBy (flip compare) ["word" ++ show (i * 7919 `mod` 1009) | i <- [1 .. n]])

main :: IO ()
main = print (sum [fibonacci 21 + toInteger (Map.size (text (2000 + i))) | i <- [1 .. 20]])

-- SPDX-License-Identifier: LGPL-2.1-or-later
-- SPDX-FileCopyrightText: 2026 The live-unwinder authors

--  Recursion, containers and exceptions.
with Ada.Text_IO;
with Ada.Containers.Ordered_Maps;
procedure Work is
   package Maps is new Ada.Containers.Ordered_Maps (Integer, Integer);
   Failure : exception;
   Counts  : Maps.Map;
   Sum     : Integer := 0;

   function Fibonacci (N : Integer) return Integer is
     (if N < 2 then N else Fibonacci (N - 1) + Fibonacci (N - 2));

   function Depth (N : Integer) return Integer is
   begin
      if N = 0 then
         raise Failure with "deep";
      end if;
      return Depth (N - 1) + 1;
   end Depth;
begin
   for I in 1 .. 20 loop
      Sum := Sum + Fibonacci (22);
      for K in 1 .. 3_000 loop
         Counts.Include (K * 7_919 mod 10_007, K);
      end loop;
      begin
         Sum := Sum + Depth (30);
      exception
         when Failure =>
            Sum := Sum + 1;
      end;
   end loop;
   Ada.Text_IO.Put_Line (Integer'Image (Sum));
end Work;

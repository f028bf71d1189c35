{ SPDX-License-Identifier: LGPL-2.1-or-later
  SPDX-FileCopyrightText: 2026 The live-unwinder authors }

{ Recursion, sorted lists of text and exceptions. }
program Work;
{$mode objfpc}{$H+}
uses SysUtils, Classes;

function Fibonacci (N: Integer): Integer;
begin
  if N < 2 then Result := N else Result := Fibonacci (N - 1) + Fibonacci (N - 2);
end;

function Depth (N: Integer): Integer;
begin
  if N = 0 then raise Exception.Create ('deep');
  Result := Depth (N - 1) + 1;
end;

var
  I, K, Sum: Integer;
  Words: TStringList;
begin
  Sum := 0;
  for I := 1 to 10 do
  begin
    Words := TStringList.Create;
    for K := 1 to 2000 do Words.Add ('word' + IntToStr (K * 7919 mod 1009));
    Words.Sort;
    Sum := Sum + Words.Count + Fibonacci (24);
    Words.Free;
    try
      Sum := Sum + Depth (30);
    except
      on E: Exception do Sum := Sum + 1;
    end;
  end;
  WriteLn (Sum);
end.

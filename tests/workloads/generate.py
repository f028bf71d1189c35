# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""generate.py - makes the large inputs of the workloads: a C file, a C++ file and lines to sort.

Used by run.py.  The same size gives the same text every time.
"""

import random


def c_source(functions):
    """A C file of @functions functions with loops, switches and structs."""
    rng = random.Random(1)
    parts = ["struct item { int id; double price; struct item *next; char name[16]; };\n"]
    for i in range(functions):
        cases = "".join(f"        case {k}: sum += it->id * {rng.randrange(1, 99)}; "
                        f"it->price /= {rng.randrange(2, 9)}.5; break;\n" for k in range(12))
        other = rng.randrange(i) if i else None
        call = f"f{other} (it, n - 1)" if other is not None else "n"
        parts.append(f"""
int f{i} (struct item *it, int n)
{{
  int table[{rng.randrange(8, 64)}] = {{ {rng.randrange(100)} }}, sum = 0;
  for (int i = 0; i < n; i++, it = it->next)
    {{
      for (unsigned j = 0; j < sizeof table / sizeof *table; j++)
        table[j] = table[(j * {rng.randrange(3, 50)}u) % {rng.randrange(5, 8)}] ^ it->name[j & 15];
      switch ((it->id + table[i & 7]) % 13)
        {{
{cases}        default: sum ^= {call};
        }}
      while (sum > {rng.randrange(1000, 9999)})
        sum = sum / 3 - (int) it->price;
    }}
  return sum + table[n & 7];
}}
""")
    return "".join(parts)


def cc_source(types):
    """A C++ file with @types instantiations of template-heavy library code."""
    parts = ["#include <algorithm>\n#include <functional>\n#include <map>\n#include <memory>\n"
             "#include <regex>\n#include <string>\n#include <tuple>\n#include <variant>\n"
             "#include <vector>\n\n"
             "template <int N> struct Sum "
             "{ static constexpr int value = N + Sum<N - 1>::value; };\n"
             "template <> struct Sum<0> { static constexpr int value = 0; };\n"
             "template <int N, class... T> struct Nest "
             "{ using type = typename Nest<N - 1, std::tuple<T...>, T...>::type; };\n"
             "template <class... T> struct Nest<0, T...> { using type = std::variant<T...>; };\n"]
    for i in range(types):
        parts.append(f"""
struct Key{i} {{ int id; std::string name;
  bool operator< (const Key{i} &o) const
  {{ return std::tie (id, name) < std::tie (o.id, o.name); }} }};
int use{i} (int n)
{{
  std::map<Key{i}, std::vector<std::shared_ptr<Key{i}>>> all;
  std::vector<std::function<int (Key{i} &)>> steps;
  typename Nest<{i % 4 + 1}, Key{i}, int>::type nested;
  for (int k = 0; k < n + Sum<{100 + i}>::value % 7; k++)
    {{
      all[Key{i}{{ k, std::to_string (k) }}].push_back (std::make_shared<Key{i}> ());
      steps.push_back ([k, &all] (Key{i} &key) {{ return key.id + k + (int) all.size (); }});
    }}
  std::vector<Key{i}> keys;
  for (auto &entry : all)
    keys.push_back (entry.first);
  std::sort (keys.begin (), keys.end (), [] (auto &a, auto &b) {{ return b < a; }});
  std::stable_sort (keys.begin (), keys.end ());
  std::regex pattern ("k([0-9]+){i}");
  int total = nested.index ();
  for (auto &key : keys)
    total += std::regex_match (key.name, pattern) ? steps[0] (key) : key.id;
  return total;
}}
""")
    return "".join(parts)


RUST_NUMBERS = ("u16", "u32", "u64", "i16", "i32", "i64", "f32", "f64")


def rs_source(types, variants):
    """A Rust file with @types types, each with @variants × 8 instantiations of one function.

    Variants are work for the code generator, types for the passes in front of it.
    """
    impls = "".join(f"impl Number for {t} {{ fn from(n: usize) -> Self {{ n as {t} }} "
                    f"fn to(self) -> usize {{ self as usize }} }}\n" for t in RUST_NUMBERS)
    parts = ["#![allow(dead_code)]\nuse std::collections::{BTreeMap, HashMap};\n"
             "use std::fmt::Debug;\nuse std::ops::{Add, Div, Mul, Sub};\n\n"
             "pub trait Number: Copy + PartialOrd + Add<Output = Self> + Mul<Output = Self>\n"
             "    + Sub<Output = Self> + Div<Output = Self>\n{\n"
             "    fn from(n: usize) -> Self;\n    fn to(self) -> usize;\n}\n" + impls +
             "fn group<K: Ord + Clone + Debug, V: Clone + Debug>(all: &[(K, V)]) "
             "-> BTreeMap<K, Vec<V>> {\n    let mut map = BTreeMap::new();\n"
             "    for (k, v) in all {\n        map.entry(k.clone()).or_insert_with(Vec::new)"
             ".push(v.clone());\n    }\n    map\n}\n"
             "fn row_sum<T: Number>(row: &[T]) -> T {\n"
             "    row.iter().fold(T::from(0), |a, &b| a + b)\n}\n"]
    for i in range(types):
        calls = "\n".join(f"    numbers += crunch{i}::<{t}, {v}>(n);" for v in range(variants)
                          for t in RUST_NUMBERS)
        parts.append(f"""
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind{i} {{ A(u32), B {{ name: String, size: usize }}, C(Vec<u8>) }}
pub fn use{i}(n: usize) -> usize {{
    let all: Vec<(Kind{i}, String)> = (0..n)
        .map(|k| match k % 3 {{
            0 => (Kind{i}::A(k as u32), format!("{{k}}")),
            1 => (Kind{i}::B {{ name: format!("n{{}}", k * {i + 3}), size: k }}, String::new()),
            _ => (Kind{i}::C(vec![k as u8; {i % 5 + 1}]), "c".repeat(k)),
        }})
        .collect();
    let mut seen: HashMap<Kind{i}, usize> = HashMap::new();
    for (kind, text) in &all {{
        *seen.entry(kind.clone()).or_default() += text.len();
    }}
    let text = format!("{{:?}}", group(&all));
    let n = n + text.len();
    let mut numbers = n;
{calls}
    let mut sorted: Vec<_> = seen.into_iter().filter(|(_, v)| v % 2 == 0).collect();
    sorted.sort_by(|a, b| b.cmp(a));
    sorted.iter().map(|(_, v)| v).sum::<usize>() + numbers
}}
pub fn crunch{i}<T: Number, const V: usize>(n: usize) -> usize {{
    let first = |k: usize| [T::from(k * (V + 5)); {i % 3 + 4}];
    let mut table: Vec<[T; {i % 3 + 4}]> = (0..n).map(first).collect();
    let mut total = T::from({i});
    for round in 0..n {{
        for row in table.iter_mut() {{
            for (k, cell) in row.iter_mut().enumerate() {{
                *cell = match (k + round) % 5 {{
                    0 => *cell + T::from(round),
                    1 => *cell * T::from(k + 1) - total,
                    2 if *cell > total => *cell / T::from(k + V),
                    3 => row_sum(&[*cell, total]) - *cell,
                    _ => total,
                }};
            }}
            total = total + row_sum(row);
        }}
        table.sort_by(|a, b| b[0].partial_cmp(&a[{i % 3 + 3}]).unwrap_or(std::cmp::Ordering::Less));
        table.dedup_by(|a, b| a[1] > b[1]);
    }}
    total.to() + table.len()
}}
""")
    calls = "".join(f"    total += use{i}(std::env::args().count());\n" for i in range(types))
    parts.append(f"\nfn main() {{\n    let mut total = 0;\n{calls}"
                 "    println!(\"{total}\");\n}\n")
    return "".join(parts)


def lines(count):
    """@count lines of words and numbers in no order."""
    rng = random.Random(2)
    return "".join(f"w{rng.getrandbits(40):x} {rng.getrandbits(30)} {i}\n" for i in range(count))

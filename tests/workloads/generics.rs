// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors
//
// generics.rs - the workload Rust: generic code, closures, collections and threads.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::ops::Add;
use std::sync::mpsc;
use std::thread;

extern "C" {
    // The CPU time of the process in microseconds, from the C library.
    fn clock() -> std::os::raw::c_long;
}

fn cpu_seconds() -> f64 {
    unsafe { clock() as f64 / 1e6 }
}

trait Shape {
    fn area(&self) -> f64;
}

struct Square(f64);
struct Circle(f64);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        3.14 * self.0 * self.0
    }
}

#[derive(Debug)]
enum Tree<T> {
    Leaf,
    Node(Box<Tree<T>>, T, Box<Tree<T>>),
}

impl<T: Ord + Copy + Add<Output = T> + Default + Debug> Tree<T> {
    #[inline(never)]
    fn insert(self, value: T) -> Self {
        match self {
            Tree::Leaf => Tree::Node(Box::new(Tree::Leaf), value, Box::new(Tree::Leaf)),
            Tree::Node(l, v, r) if value < v => Tree::Node(Box::new(l.insert(value)), v, r),
            Tree::Node(l, v, r) => Tree::Node(l, v, Box::new(r.insert(value))),
        }
    }

    #[inline(never)]
    fn sum(&self) -> T {
        match self {
            Tree::Leaf => T::default(),
            Tree::Node(l, v, r) => l.sum() + *v + r.sum(),
        }
    }
}

fn next(seed: u64) -> u64 {
    seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407)
}

#[inline(never)]
fn apply<F: Fn(u64) -> u64>(times: usize, seed: u64, f: F) -> u64 {
    (0..times).fold(seed, |value, _| f(value))
}

fn one_round(mut seed: u64) -> u64 {
    let mut tree = Tree::Leaf;
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut order: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for _ in 0..300 {
        seed = next(seed);
        tree = tree.insert(seed >> 33);
        *counts.entry(format!("word{}", seed % 97)).or_insert(0) += 1;
        order.entry(seed % 31).or_default().push(seed);
    }
    let shapes: Vec<Box<dyn Shape>> = (0..100)
        .map(|i| -> Box<dyn Shape> {
            if i % 2 == 0 { Box::new(Square(i as f64)) } else { Box::new(Circle(i as f64)) }
        })
        .collect();
    let area: f64 = shapes.iter().map(|s| s.area()).sum();
    let mut all: Vec<u64> = order.into_values().flatten().collect();
    all.sort_by_key(|v| std::cmp::Reverse(v % 1009));
    apply(1000, tree.sum(), next) ^ all[0] ^ counts.len() as u64 ^ area as u64
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let (sender, receiver) = mpsc::channel();
    for id in 0..2u64 {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut total = id;
            while cpu_seconds() < seconds {
                total = total.wrapping_add(one_round(total));
            }
            sender.send(total).unwrap();
        });
    }
    drop(sender);
    println!("{}", receiver.iter().fold(0u64, |a, b| a.wrapping_add(b)));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-short-name.c - symbols of programs, and the names that people see. */

#include "symbolize/demangle.h"
#include "symbolize/short-name.h"

#include <string.h>

#define ITERATOR "__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >"

typedef struct
{
  const char *name, *expected;
} Case;

/* Names as libiberty makes them: some of symbols of libstdc++, libLLVM and rustc, others written by
 * hand for a rule. */
static const Case demangled[] = {
  /* types, parameters and defaults */
  { "std::vector<int, std::allocator<int> >::push_back(int const&)",
    "std::vector<int>::push_back" },
  { "void std::__introsort_loop<" ITERATOR ", long, __gnu_cxx::__ops::_Iter_less_iter>(" ITERATOR
    ", long)",
    "std::__introsort_loop<…>" },
  { "std::map<std::string, int, std::less<std::string>, std::allocator<std::pair<std::string "
    "const, "
    "int> > >::operator[](std::string const&)",
    "std::map<std::string, int>::operator[]" },
  { "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char "
    "const*)",
    "std::string::append" },
  { "std::__1::vector<int, std::__1::allocator<int> >::size() const", "std::vector<int>::size" },
  { "std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int "
    "const, int> > >::find(int const&)",
    "std::unordered_map<int, int>::find" },
  { "std::unique_ptr<Foo<Bar>, std::default_delete<Foo<Bar> > >::~unique_ptr()",
    "std::unique_ptr<Foo<Bar>>::~unique_ptr" },
  { "std::ostream& std::ostream::_M_insert<long long>(long long)",
    "std::ostream::_M_insert<long long>" },
  /* arguments that only look like defaults */
  { "std::set<int, std::less<long>, std::allocator<int> >::insert(int)",
    "std::set<int, std::less<long>>::insert" },
  { "f(std::pair<int, std::less<int> >)", "f" },
  { "std::pair<int, std::less<int> >::swap()", "std::pair<int, std::less<int>>::swap" },
  { "mine::vector<int, std::allocator<int> >::f()", "mine::vector<int, std::allocator<int>>::f" },
  { "my::std::vector<int, std::allocator<int> >::f()",
    "my::std::vector<int, std::allocator<int>>::f" },
  /* scopes */
  { "main::{lambda(int, std::vector<int>)#1}::operator()(int) const",
    "main::{lambda#1}::operator()" },
  { "foo(int) const::{lambda()#1}::operator()() const [clone .isra.0]",
    "foo::{lambda#1}::operator() [clone .isra.0]" },
  { "(anonymous namespace)::work(int)", "(anonymous namespace)::work" },
  { "non-virtual thunk to Foo::bar(int)", "non-virtual thunk to Foo::bar" },
  { "foo[abi:cxx11](int)@plt", "foo@plt" },
  /* operators */
  { "operator new[](unsigned long)", "operator new[]" },
  { "Foo::operator std::vector<int, std::allocator<int> >() const",
    "Foo::operator std::vector<int>" },
  { "bool operator< <int>(X<int> const&, X<int> const&)", "operator< <int>" },
  { "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
    "std::operator<< <std::char_traits<char>>" },
  { "Foo::operator->() const", "Foo::operator->" },
  { "operators::go(int)", "operators::go" },
  /* expressions and odd types */
  { "std::enable_if<(sizeof (int))<(8), void>::type foo<int>(int)", "foo<int>" },
  { "decltype ((f)({lambda()#1})) bar<int>(int)", "bar<int>" },
  { "std::function<void (std::vector<int, std::allocator<int> >)>::operator()(int) const",
    "std::function<void (std::vector<int>)>::operator()" },
  { "int (*foo<int>(char))(long)", "int (*foo<int>(char))(long)" },
  /* Rust */
  { "<alloc::vec::Vec<alloc::string::String, alloc::alloc::Global> as core::ops::drop::Drop>::drop",
    "<alloc::vec::Vec<alloc::string::String> as core::ops::drop::Drop>::drop" },
  { "core::fmt::num::<impl core::fmt::Display for i32>::fmt",
    "core::fmt::num::<impl core::fmt::Display for i32>::fmt" },
  { "core::slice::sort::quicksort::<u32, <u32 as core::cmp::PartialOrd>::lt>",
    "core::slice::sort::quicksort::<…>" },
  { "<foo::Bar<i32>>::new::<fn(u8) -> u8>::{closure#0}",
    "<foo::Bar<i32>>::new::<fn(u8) -> u8>::{closure#0}" },
  { "std::sys::spawn<<A as B>::f<u8>::{closure#10}, ()>", "std::sys::spawn<…>" },
  /* texts that are neither, or end too soon */
  { "memcpy", "memcpy" },
  { "main.(*T).Method", "main.(*T).Method" },
  { "type:.eq.struct { F uintptr; X func(int) }", "type:.eq.struct { F uintptr; X func(int) }" },
  { "-[Foo bar:baz:]", "-[Foo bar:baz:]" },
  { "f<int", "f<int" },
  { "f(int", "f(int" },
  { "(int)", "(int)" },
  { "int ", "int " },
  { "", "" },
};

static void
test_demangled (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (demangled); i++)
    {
      g_autofree char *name = lu_short_name (demangled[i].name);

      g_assert_cmpstr (name, ==, demangled[i].expected);
    }
}

static const Case symbols[] = {
  { "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int>::push_back" },
  { "_ZNSo9_M_insertIdEERSoT_", "std::ostream::_M_insert<double>" },
  { "_ZNSt10filesystem7__cxx114pathaSERKS1_", "std::filesystem::path::operator=" },
  { "_RNvCs2NkiIScaGIh_12regex_syntax11escape_into", "regex_syntax::escape_into" },
  { "_D3std5stdio7writelnFAyaZv", "std.stdio.writeln" },
  { "_D3foo3barFiZ3bazMFaZv", "foo.bar.baz" },
  { "ada__text_io__put_line__2", "ada.text_io.put_line" },
  { "_ada_hello", "hello" },
};

static void
test_symbols (void)
{
  g_autofree char *probe = lu_demangle (symbols[0].name);

  if (strcmp (probe, symbols[0].name) == 0)
    {
      g_test_skip ("built without a demangler");
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (symbols); i++)
    {
      g_autofree char *full = lu_demangle (symbols[i].name);
      g_autofree char *name = lu_short_name (full);

      g_assert_cmpstr (name, ==, symbols[i].expected);
    }
}

static const Case of_languages[] = {
  { "camlStdlib__List__map_342", "Stdlib.List.map" },
  { "camlFoo__fun_512", "Foo.fun_512" },
  { "camlFoo__go_3_7_code", "Foo.go" },
  { "camlStdlib.$40_198", "Stdlib.@" },
  { "base_GHCziBase_map_info", "GHC.Base.map" },
  { "ghczmprim_GHCziTypes_ZMZN_info", "GHC.Types.[]" },
  { "Main_zdwgo_info", "Main.$wgo" },
  /* names of C */
  { "caml_alloc", NULL },
  { "camlFoo", NULL },
  { "get_device_info", NULL },
  { "gst_Foozie_get_info", NULL },
  { "main__loop", NULL },
  { "_Dmain_loop", NULL },
  { "", NULL },
};

static void
test_of_languages (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (of_languages); i++)
    {
      g_autofree char *name = lu_short_name_of_language (of_languages[i].name);

      g_assert_cmpstr (name, ==, of_languages[i].expected);
    }
}

/* Brackets without end take neither the stack nor much time. */
static void
test_deep (void)
{
  const char *const parts[] = { "a<", "a(", "<", "{", "[", "operator<", "-><", "a<b," };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      g_autoptr (GString) deep = g_string_new (NULL);
      g_autofree char *name = NULL;

      while (deep->len < 16000)
        g_string_append (deep, parts[i]);
      name = lu_short_name (deep->str);
      g_assert_cmpstr (name, ==, deep->str);
    }
}

static char *
long_name (guint n)
{
  g_autoptr (GString) name = g_string_new ("int ");

  for (guint i = 0; i < n; i++)
    g_string_append (name, "a_<b>::");
  return g_strdup_printf ("%sf(c)", name->str);
}

/* A name that would take long stays as it is. */
static void
test_long (void)
{
  g_autofree char *few = long_name (2000), *many = long_name (9000);
  g_autofree char *few_short = lu_short_name (few), *many_short = lu_short_name (many);

  g_assert_cmpuint (strlen (few_short), ==, strlen (few) - strlen ("int (c)"));
  g_assert_cmpstr (many_short, ==, many);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/short-name/demangled", test_demangled);
  g_test_add_func ("/short-name/symbols", test_symbols);
  g_test_add_func ("/short-name/of-languages", test_of_languages);
  g_test_add_func ("/short-name/deep", test_deep);
  g_test_add_func ("/short-name/long", test_long);
  return g_test_run ();
}

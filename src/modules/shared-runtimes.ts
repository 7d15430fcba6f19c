import type { SharedRuntime } from './contract/keeps-state.ts';
import type { Module } from './contract/module.ts';

/** The runtimes that modules share, each once, in the order of the modules. */
export function sharedRuntimes(modules: readonly Module[]): readonly SharedRuntime[] {
  return [...new Set(modules.flatMap((module) => module.shared ?? []))];
}

/** A module's own names of a kind, and those that it shares. */
export function namesOf(module: Module, kind: 'reservedHeaders' | 'reservedCookies' | 'ownPaths'): readonly string[] {
  return [...(module.shared ?? []).flatMap((each) => each[kind] ?? []), ...(module[kind] ?? [])];
}

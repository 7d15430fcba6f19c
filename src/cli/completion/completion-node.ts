import type { ApiResource } from '../api/api-resources.ts';
import type { Flag } from '../api/flag.ts';
import { operationFlags } from '../api/operation-flags.ts';
import type { Command } from '../command.ts';

/** The words that can follow a sequence of words. */
export interface CompletionNode {
  /** The words so far: `api https-edges create`. */
  readonly path: string;
  readonly words: readonly string[];
  readonly flags: readonly CompletedFlag[];
}

export interface CompletedFlag {
  /** With its dashes. */
  readonly name: string;
  readonly takesValue: boolean;
  readonly choices?: readonly string[] | undefined;
  readonly isFile?: boolean | undefined;
}

export function apiNodes(resources: readonly ApiResource[]): readonly CompletionNode[] {
  const nodes: CompletionNode[] = [{ path: 'api', words: resources.map(({ name }) => name), flags: [] }];
  for (const { name, aliases, operations } of resources) {
    for (const noun of [name, ...aliases]) {
      nodes.push({ path: `api ${noun}`, words: operations.map(({ verb }) => verb), flags: [] });
      for (const operation of operations) {
        const flags = operationFlags(operation).flatMap(({ name: flag, kind, choices, isFile, target }) => [
          { name: `--${flag}`, takesValue: kind !== 'switch', choices, isFile },
          ...(kind === 'switch' && target.in === 'body' ? [{ name: `--no-${flag}`, takesValue: false }] : []),
        ]);
        nodes.push({ path: `api ${noun} ${operation.verb}`, words: [], flags });
      }
    }
  }
  return nodes;
}

/**
 * For a command that is not built from a registry: its help lists every subcommand, and every flag that it does not
 * list itself.
 */
export function helpNode(name: string, { help, flags }: Pick<Command, 'help' | 'flags'>): CompletionNode {
  const words = Array.from(help.matchAll(/^ {2}([a-z][a-z-]*)\s/gm), ([, word]) => word as string);
  return { path: name, words: [...new Set(words)], flags: flags?.flatMap(listedFlag) ?? namedFlags(help) };
}

function listedFlag({ name, kind, choices, isFile }: Flag): readonly CompletedFlag[] {
  if (kind !== 'switch') return [{ name: `--${name}`, takesValue: true, choices, isFile }];
  return [`--${name}`, `--no-${name}`].map((flag) => ({ name: flag, takesValue: false }));
}

function namedFlags(help: string): readonly CompletedFlag[] {
  const flags = new Set(Array.from(help.matchAll(/(?<![\w-])--[a-z][a-z-]*/g), ([flag]) => flag));
  return Array.from(flags, (flag) => ({
    name: flag,
    takesValue: false,
    isFile: /-(file|dir)$|config$/.test(flag),
  }));
}

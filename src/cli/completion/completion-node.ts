import type { Flag } from '../../lib/flags.ts';
import type { ApiResource } from '../api/api-resources.ts';
import { operationFlags } from '../api/operation-flags.ts';
import { verbWord } from '../api/resource-names.ts';
import type { CommandSyntax } from '../command-syntax.ts';
import { flagsOf } from '../parse-command.ts';

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
      nodes.push({ path: `api ${noun}`, words: operations.map(verbWord), flags: [] });
      for (const operation of operations) {
        const flags = operationFlags(operation).flatMap((flag) => {
          // A field can also be set to false.
          return completedFlag(flag.target.in === 'body' ? { ...flag, isOnByDefault: true } : flag);
        });
        nodes.push({ path: `api ${noun} ${verbWord(operation)}`, words: [], flags });
      }
    }
  }
  return nodes;
}

/** One for the command, one for each subcommand. */
export function commandNodes(syntax: CommandSyntax): readonly CompletionNode[] {
  const { name, subcommands = [] } = syntax;
  const standard = subcommands.find(({ isDefault }) => isDefault === true) ?? null;
  const flags = flagsOf(syntax, standard).flatMap(completedFlag);
  return [
    { path: name, words: subcommands.map((each) => each.name), flags },
    ...subcommands.map((each) => ({
      path: `${name} ${each.name}`,
      words: [],
      flags: flagsOf(syntax, each).flatMap(completedFlag),
    })),
  ];
}

/** A switch that is off anyway is not offered as `--no-x`. */
function completedFlag({ name, kind, choices, isFile, isOnByDefault }: Flag): readonly CompletedFlag[] {
  if (kind !== 'switch') return [{ name: `--${name}`, takesValue: true, choices, isFile }];
  const names = [`--${name}`, ...(isOnByDefault === true ? [`--no-${name}`] : [])];
  return names.map((each) => ({ name: each, takesValue: false }));
}

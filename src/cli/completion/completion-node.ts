import type { Flag } from '../../lib/flags.ts';
import { referenceAnnotation } from '../../lib/schema/reference-annotation.ts';
import type { ApiResource } from '../api/api-resources.ts';
import type { ApiFlag } from '../api/flag.ts';
import { operationFlags } from '../api/operation-flags.ts';
import { type OperationDescription, operationList } from '../api/operation-list.ts';
import { verbWord } from '../api/resource-names.ts';
import type { CommandSyntax } from '../command-syntax.ts';
import { type Collection, collectionsOf } from '../names/collections.ts';
import { flagsOf } from '../parse-command.ts';

/** The words that can follow a sequence of words. */
export interface CompletionNode {
  /** The words so far: `api https-edges create`. */
  readonly path: string;
  readonly words: readonly string[];
  readonly flags: readonly CompletedFlag[];
  /** Kinds of resources that an argument without a flag names. */
  readonly completedBy?: readonly string[] | undefined;
}

export interface CompletedFlag {
  /** With its dashes. */
  readonly name: string;
  readonly takesValue: boolean;
  readonly choices?: readonly string[] | undefined;
  readonly isFile?: boolean | undefined;
  readonly completedBy?: readonly string[] | undefined;
}

export function apiNodes(resources: readonly ApiResource[]): readonly CompletionNode[] {
  const collections = collectionsOf(operationList());
  const nodes: CompletionNode[] = [{ path: 'api', words: resources.map(({ name }) => name), flags: [] }];
  for (const { name, aliases, operations } of resources) {
    for (const noun of [name, ...aliases]) {
      nodes.push({ path: `api ${noun}`, words: operations.map(verbWord), flags: [] });
      for (const operation of operations) {
        const own = operationFlags(operation).map((flag) => ({ ...flag, ...namedKinds(operation, flag, collections) }));
        const flags = own.flatMap((flag) => {
          // A field can also be set to false.
          return completedFlag(flag.target.in === 'body' ? { ...flag, isOnByDefault: true } : flag);
        });
        // The last identifier also works without its flag.
        const completedBy = own.findLast(({ target }) => target.in === 'path')?.completedBy;
        nodes.push({ path: `api ${noun} ${verbWord(operation)}`, words: [], flags, completedBy });
      }
    }
  }
  return nodes;
}

/** The kinds of resources that a value names: an identifier, a filter with the pattern of an id, a field that refers to something. */
function namedKinds(
  { path, query }: OperationDescription,
  { target, schema }: ApiFlag,
  collections: readonly Collection[],
): Pick<Flag, 'completedBy'> {
  const kindsOf = (collection: Collection | undefined) => (collection ? { completedBy: [collection.kind] } : {});
  switch (target.in) {
    case 'path':
      return kindsOf(collections.find((each) => each.path === path.split(`/{${target.name}}`)[0]));
    case 'query': {
      const { pattern } = (query?.properties[target.name] ?? {}) as { readonly pattern?: string };
      const isId = pattern !== undefined && target.name !== 'before_id';
      return isId ? kindsOf(collections.find(({ idPattern }) => idPattern === pattern)) : {};
    }
    case 'body': {
      const kinds = schema && referenceAnnotation(schema)?.kinds;
      return kinds === undefined ? {} : { completedBy: kinds };
    }
    case 'command':
      return {};
  }
}

/** One for the command, one for each subcommand. */
export function commandNodes(syntax: CommandSyntax): readonly CompletionNode[] {
  const { name, subcommands = [] } = syntax;
  const standard = subcommands.find(({ isDefault }) => isDefault === true) ?? null;
  const flags = flagsOf(syntax, standard).flatMap(completedFlag);
  return [
    { path: name, words: subcommands.map((each) => each.name), flags, completedBy: syntax.completedBy },
    ...subcommands.map((each) => ({
      path: `${name} ${each.name}`,
      words: [],
      flags: flagsOf(syntax, each).flatMap(completedFlag),
      completedBy: each.completedBy,
    })),
  ];
}

/** A switch that is off anyway is not offered as `--no-x`. */
function completedFlag({ name, kind, choices, isFile, isOnByDefault, completedBy }: Flag): readonly CompletedFlag[] {
  if (kind !== 'switch') return [{ name: `--${name}`, takesValue: true, choices, isFile, completedBy }];
  const names = [`--${name}`, ...(isOnByDefault === true ? [`--no-${name}`] : [])];
  return names.map((each) => ({ name: each, takesValue: false }));
}

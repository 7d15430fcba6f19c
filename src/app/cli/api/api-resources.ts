import type { TObject, TSchema } from 'typebox';
import { usage } from '../../../kit/flags.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import { type OperationDescription, resourceDescription } from './operation-list.ts';

/** Words after `postern api`: a noun with its verbs. */
export interface ApiResource {
  readonly name: string;
  /** Shorter synonyms: `routes`. */
  readonly aliases: readonly string[];
  readonly description: string;
  readonly operations: readonly OperationDescription[];
}

export function apiResources(operations: readonly OperationDescription[]): readonly ApiResource[] {
  const grouped = Map.groupBy(operations, (operation) => kebab(resourceName(operation)));
  // Lists name their items by a shorter word; it stands for the resource where it is unique.
  const words = [...grouped].map(([name, own]) => ({ name, word: listWord(own) }));
  return [...grouped].map(([name, own]) => {
    const word = listWord(own);
    const isFree = word !== null && !grouped.has(word) && words.filter((each) => each.word === word).length === 1;
    return {
      name,
      aliases: isFree ? [word] : [],
      description: resourceDescription(own[0]?.resource ?? ''),
      operations: own,
    };
  });
}

function listWord(operations: readonly OperationDescription[]): string | null {
  const list = operations.map(listItems).find((each) => each !== null);
  return list === undefined ? null : kebab(list.key);
}

/** What the documentation calls a resource that has another name on the wire (docs/concepts.md). */
const SPOKEN: ReadonlyMap<string, string> = new Map([
  ['site', 'https-edges'],
  ['agent token', 'credentials'],
  ['person', 'user-accounts'],
  ['people', 'user-accounts'],
]);

export function findResource(resources: readonly ApiResource[], word: string): ApiResource {
  const found = resources.find(({ name, aliases }) => name === word || aliases.includes(word));
  if (found !== undefined) return found;
  const names = resources.flatMap(({ name, aliases }) => [name, ...aliases]);
  const meant = resourceInOtherWords(resources, word);
  const hint = meant === undefined ? didYouMean(word, names) : ` Did you mean "${meant}"?`;
  throw usage(`unknown resource "${shown(word)}".${hint} postern api --help lists them`);
}

const MAX_WORD = 80;

/**
 * For `edges`, `https_edges` or `edges/https`: the shortest name that has all of these words, in any order and number.
 */
function resourceInOtherWords(resources: readonly ApiResource[], word: string): string | undefined {
  const wanted = wordsOf(word.slice(0, MAX_WORD));
  if (wanted.length === 0) return undefined;
  return (
    SPOKEN.get(wanted.toSorted().join(' ')) ??
    resources
      .map(({ name }) => name)
      .filter((name) => wanted.every((each) => wordsOf(name).includes(each)))
      .sort((one, other) => rank(one, wanted) - rank(other, wanted))[0]
  );
}

/** The last word says what it is: `certificates` are more likely TLS certificates than certificate authorities. */
function rank(name: string, wanted: readonly string[]): number {
  const words = wordsOf(name);
  return words.length - (words.at(-1) === wanted.at(-1) ? 0.5 : 0);
}

/** In the singular, without parameters of a path. */
function wordsOf(name: string): readonly string[] {
  const words =
    name
      .toLowerCase()
      .replaceAll(/\{[^}]*\}/g, '')
      .match(/[a-z0-9]+/g) ?? [];
  return words.map((each) => each.replace(/ies$/, 'y').replace(/s$/, ''));
}

export function findOperation(resource: ApiResource, word: string): OperationDescription {
  const found = resource.operations.find((operation) => verbWord(operation) === kebab(word));
  if (found !== undefined) return found;
  const verbs = resource.operations.map(verbWord);
  throw usage(
    `${resource.name} has no verb "${shown(word)}".${didYouMean(word, verbs)} Its verbs: ${verbs.join(', ')}`,
  );
}

/** The word may be anything, such as a failed paste. */
function shown(word: string): string {
  return word.replaceAll(/\p{Cc}/gu, '').slice(0, 40);
}

/**
 * Name of an operation's resource outside of the wire, in snake_case: `https_edges`. A module is a resource of its own:
 * `oidc`. `/backends/static` holds the static backends: `static_backends`.
 */
export function resourceName({ resource, path }: Pick<OperationDescription, 'resource' | 'path'>): string {
  const module = moduleName(resource);
  if (module !== null) return module;
  const [, group, name] = path.split('/');
  return name === resource ? `${name}_${group}` : resource;
}

/** Null when the resource is not a module. */
export function moduleName(resource: string): string | null {
  return resource.split('.')[1] ?? null;
}

/** The singular noun of a resource, or of a module's owner: `https_edges` gives `edge`. */
export function singularNoun(operation: Pick<OperationDescription, 'resource' | 'path'>): string {
  const [owner = ''] = operation.resource.split('.');
  const word =
    resourceName({ ...operation, resource: owner })
      .split('_')
      .at(-1) ?? '';
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}

export function kebab(name: string): string {
  return name.replaceAll('_', '-');
}

/** `review_proposed` as a word of a command: `review-proposed`. */
export function verbWord({ verb }: Pick<OperationDescription, 'verb'>): string {
  return kebab(verb);
}

/** Names of the path's parameters, in order. */
export function pathParameters(path: string): readonly string[] {
  return Array.from(path.matchAll(/\{([^}]+)\}/g), ([, name]) => name as string);
}

/** The field of a list's envelope that holds the items, and their schema; null when it is not a list. */
export function listItems(operation: OperationDescription): { readonly key: string; readonly item: TSchema } | null {
  if (operation.verb !== 'list') return null;
  for (const [key, field] of Object.entries((operation.success.schema as TObject).properties)) {
    const { items } = field as { items?: TSchema };
    if (items !== undefined) return { key, item: items };
  }
  return null;
}

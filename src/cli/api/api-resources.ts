import { usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/text/near-match.ts';
import { type OperationDescription, resourceDescription } from './operation-list.ts';
import { kebab, listItems, resourceName, verbWord } from './resource-names.ts';

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

/** For `edges`, `https_edges` or `edges/https`: the shortest name that has all of these words, in any order and number. */
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

import { usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/text/near-match.ts';
import { type OperationDescription, resourceDescription } from './operation-list.ts';
import { kebab, listItems, resourceName } from './resource-names.ts';

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

export function findResource(resources: readonly ApiResource[], word: string): ApiResource {
  const found = resources.find(({ name, aliases }) => name === word || aliases.includes(word));
  if (found !== undefined) return found;
  const names = resources.flatMap(({ name, aliases }) => [name, ...aliases]);
  throw usage(`unknown resource "${shown(word)}".${didYouMean(word, names)} postern api --help lists them`);
}

export function findOperation(resource: ApiResource, word: string): OperationDescription {
  const found = resource.operations.find(({ verb }) => verb === word);
  if (found !== undefined) return found;
  const verbs = resource.operations.map(({ verb }) => verb);
  throw usage(
    `${resource.name} has no verb "${shown(word)}".${didYouMean(word, verbs)} Its verbs: ${verbs.join(', ')}`,
  );
}

/** The word may be anything, such as a failed paste. */
function shown(word: string): string {
  return word.replaceAll(/\p{Cc}/gu, '').slice(0, 40);
}

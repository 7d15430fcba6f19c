import { registeredDescription, registeredOperationList } from './operations/registered.ts';

export const name = 'operations';

const PATH = 'src/app/cli/api/generated/operations.json';

/** The API as `postern api` and the shell completion know it. One operation per line, so that diffs stay readable. */
export function generate(): Promise<Map<string, string>> {
  const operations = registeredOperationList();
  const resources = [...new Set(operations.map(({ resource }) => resource))];
  const descriptions = Object.fromEntries(resources.map((each) => [each, registeredDescription(each)]));
  const lines = operations.map((operation) => JSON.stringify(operation));
  const text = `{"descriptions": ${JSON.stringify(descriptions, null, 1)},\n"operations": [\n${lines.join(',\n')}\n]}\n`;
  return Promise.resolve(new Map([[PATH, text]]));
}

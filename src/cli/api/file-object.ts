import { usage } from '../../lib/flags.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { TextSource } from './text-source.ts';

/** The object in the JSON or YAML file that `--from-file` names. */
export async function fileObject(file: string, source: TextSource): Promise<JsonObject> {
  const text = await source.read(file, 'from-file');
  // Loaded when it is needed: the parser takes a third of the start of a command.
  const [{ readYaml }, { plainValue }] = await Promise.all([
    import('../../lib/text/yaml/read-yaml.ts'),
    import('../../lib/text/yaml/yaml-node.ts'),
  ]);
  // JSON is YAML.
  const { root, problems } = readYaml(text, { hasAliases: true, isForeign: true });
  const [first] = problems;
  if (first !== undefined) {
    const { line, column, problem } = first;
    throw usage(`--from-file: the file is neither JSON nor YAML: line ${line}, column ${column}: ${problem}`);
  }
  const value = root === null ? null : plainValue(root);
  if (!isJsonObject(value)) throw usage('--from-file: the file must contain an object with the fields');
  return value;
}

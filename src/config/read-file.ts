import { didYouMean } from '../lib/text/near-match.ts';
import { readYaml, yamlProblemText } from '../lib/text/yaml/read-yaml.ts';
import { plainValue } from '../lib/text/yaml/yaml-node.ts';
import { configErrors } from './errors.ts';
import { settingNames } from './schema.ts';

export interface FileEntry {
  readonly value: unknown;
  readonly line: number;
}

/** The settings of a YAML file with their lines. Messages never quote the file: a line may contain a secret. */
export function readConfigText(text: string, fileName: string): Map<string, FileEntry> {
  const { root, problems } = readYaml(text, { hasAliases: true });
  const [first] = problems;
  if (first !== undefined) throw fileError(`${fileName}:${first.line}: ${yamlProblemText(first)}`);
  const entries = new Map<string, FileEntry>();
  if (root === null) return entries;
  if (root.type !== 'map') throw fileError(`${fileName}: must be a map of settings, "name: value" on each line`);
  for (const [name, { line, node }] of root.entries) {
    if (!settingNames.includes(name)) throw unknownKey(name, `${fileName}:${line}`);
    entries.set(name, { value: plainValue(node), line });
  }
  return entries;
}

function unknownKey(name: string, where: string): Error {
  const message = `${where}: unknown setting ${JSON.stringify(name.slice(0, 60))}.${didYouMean(name, settingNames)}`;
  return configErrors.create('ERR_POSTERN_CONFIG_UNKNOWN', message);
}

function fileError(message: string): Error {
  return configErrors.create('ERR_POSTERN_CONFIG_FILE', message);
}

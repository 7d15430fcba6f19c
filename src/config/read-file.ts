import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { didYouMean } from '../lib/near-match.ts';
import { configErrors } from './errors.ts';
import { settingNames } from './schema.ts';

export interface FileEntry {
  readonly value: unknown;
  readonly line: number;
}

/** The settings of a YAML file with their lines. Messages never quote the file: a line may contain a secret. */
export function readConfigText(text: string, fileName: string): Map<string, FileEntry> {
  const lineCounter = new LineCounter();
  const lineAt = (offset: number | undefined) => lineCounter.linePos(offset ?? 0).line;
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'silent' });
  const [problem] = document.errors;
  if (problem !== undefined) {
    throw fileError(`${fileName}:${lineAt(problem.pos[0])}: invalid YAML (${problem.code})`);
  }

  const entries = new Map<string, FileEntry>();
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) return entries;
  if (!isMap(document.contents)) throw fileError(`${fileName}: must be a map of settings, "name: value" on each line`);
  for (const { key, value } of document.contents.items) {
    const offset = isScalar(key) ? key.range?.[0] : undefined;
    const line = lineAt(offset);
    const name = isScalar(key) && typeof key.value === 'string' ? key.value : '';
    if (!settingNames.includes(name)) throw unknownKey(name, `${fileName}:${line}`);
    entries.set(name, { value: plainValue(value, document, `${fileName}:${line}`), line });
  }
  return entries;
}

function plainValue(node: unknown, document: ReturnType<typeof parseDocument>, where: string): unknown {
  if (typeof node !== 'object' || node === null || !('toJS' in node) || typeof node.toJS !== 'function') return null;
  try {
    return node.toJS(document) as unknown;
  } catch (cause) {
    // Aliases without an anchor, or that expand exponentially.
    throw configErrors.create('ERR_POSTERN_CONFIG_FILE', `${where}: invalid YAML (alias)`, { cause });
  }
}

function unknownKey(name: string, where: string): Error {
  const message = `${where}: unknown setting ${JSON.stringify(name.slice(0, 60))}.${didYouMean(name, settingNames)}`;
  return configErrors.create('ERR_POSTERN_CONFIG_UNKNOWN', message);
}

function fileError(message: string): Error {
  return configErrors.create('ERR_POSTERN_CONFIG_FILE', message);
}

import { parse, TomlError } from 'smol-toml';
import { whyUnreadable } from '../../../kit/error-text.ts';
import { usage } from '../../../kit/flags.ts';
import { DoubledNameError, isJsonObject, type JsonObject, type JsonValue, parseUniqueJson } from '../../../kit/json.ts';
import { gatherBounded, readBounded } from '../../../kit/read-bounded.ts';
import { plainValue } from '../../../kit/text/yaml/plain-yaml.ts';
import { readYaml, yamlProblemText } from '../../../kit/text/yaml/read-yaml.ts';
import { importErrors } from './errors.ts';

export const MAX_INPUT_BYTES = 64 * 1024 * 1024;

export interface ImportInput {
  /** For messages. */
  readonly name: string;
  readonly text: string;
}

/**
 * The text of a file, or of standard input for `-`. Binary files, other encodings and huge files are rejected by name.
 */
export async function readInput(path: string): Promise<ImportInput> {
  const name = path === '-' ? 'standard input' : path;
  const reading = path === '-' ? gatherBounded(process.stdin, MAX_INPUT_BYTES) : readBounded(path, MAX_INPUT_BYTES);
  const bytes = await reading.catch((cause: unknown) => {
    throw usage(`cannot read ${name}: ${whyUnreadable(cause)}`);
  });
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw inputError(name, 1, 'is encoded as UTF-16: convert it to UTF-8');
  }
  const zero = bytes.indexOf(0);
  if (zero !== -1) throw inputError(name, lineAt(bytes, zero), 'is not a text file');
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    throw inputError(name, lineAt(bytes, firstInvalid(bytes)), 'is not encoded as UTF-8: convert it');
  }
}

/** A problem with the input, at a line of it. */
export function inputError(name: string, line: number | null, problem: string): Error {
  return importErrors.create('ERR_POSTERN_IMPORT_INPUT', `${name}${line === null ? '' : `:${line}`}: ${problem}`);
}

function lineAt(bytes: Buffer, index: number): number {
  let line = 1;
  for (let at = 0; at < index; at += 1) if (bytes[at] === 0x0a) line += 1;
  return line;
}

/** The line that the decoder rejects: found by decoding line by line. */
function firstInvalid(bytes: Buffer): number {
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf(0x0a, start);
    const stop = end === -1 ? bytes.length : end;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(start, stop));
    } catch {
      return start;
    }
    start = stop + 1;
  }
  return 0;
}

const MAX_DEPTH = 64;

/** `advice` is for a text that is not JSON. */
export function parseJsonInput({ name, text }: ImportInput, advice = ''): JsonValue {
  let value: unknown;
  try {
    value = parseUniqueJson(text);
  } catch (error) {
    if (error instanceof DoubledNameError) throw inputError(name, null, `is ambiguous: ${error.message}`);
    // The message quotes the text, which may have secrets; only the place is used.
    const [, line] = /line (\d+)/.exec(String(error)) ?? [];
    const [, position] = /position (\d+)/.exec(String(error)) ?? [];
    const at = line ?? (position === undefined ? null : text.slice(0, Number(position)).split('\n').length);
    throw inputError(name, at === null ? null : Number(at), `is not valid JSON${advice}`);
  }
  return checkedDepth(value as JsonValue, name);
}

export function parseYamlInput({ name, text }: ImportInput): JsonObject {
  // Programs in Go resolve "<<": a protection may come from there.
  const { root, problems } = readYaml(text, { hasAliases: true, isForeign: true });
  const [first] = problems;
  if (first !== undefined) throw inputError(name, first.line, yamlProblemText(first));
  return mapOf(root === null ? null : plainValue(root), name);
}

export function parseTomlInput({ name, text }: ImportInput): JsonObject {
  try {
    return mapOf(checkedDepth(parse(text, { maxDepth: MAX_DEPTH }) as JsonValue, name), name);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [problem = ''] = error.message.split('\n');
    throw inputError(name, error.line, `is not valid TOML: ${problem.replace('Invalid TOML document: ', '')}`);
  }
}

export function mapOf(value: JsonValue, name: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw inputError(name, 1, 'is empty or has no fields');
}

function checkedDepth(value: JsonValue, name: string): JsonValue {
  // Without recursion: the input may be nested deeper than the stack.
  let level: JsonValue[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) throw inputError(name, null, `is nested more than ${MAX_DEPTH} levels deep`);
    level = level.flatMap((each): JsonValue[] => {
      if (Array.isArray(each)) return each as JsonValue[];
      return isJsonObject(each) ? (Object.values(each) as JsonValue[]) : [];
    });
  }
  return value;
}

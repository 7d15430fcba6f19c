import { parse, TomlError } from 'smol-toml';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { DoubledNameError, parseUniqueJson } from '../../lib/text/json-shape.ts';
import { readYaml, yamlProblemText } from '../../lib/text/yaml/read-yaml.ts';
import { plainValue } from '../../lib/text/yaml/yaml-node.ts';
import { type ImportInput, inputError } from './read-input.ts';

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

import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';

/** Longer keys need the form "? key". */
const MAX_SIMPLE_KEY = 1000;
const MAX_FLOW_LIST = 100;
/** Texts that need no quotes, in any version of YAML. */
const PLAIN = /^[A-Za-z/*_.][A-Za-z0-9/._*@+-]*(?::[A-Za-z0-9/._*-]+)*(?: [A-Za-z0-9/._*@+-]+)*$/;
/** An IPv4 address with or without a port: no version of YAML takes it for a number. */
const ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?$/;
const PLAIN_START = /^[*]/;
/** Texts that some version of YAML reads as something else. */
const OTHER_TYPE = /^(?:true|false|yes|no|on|off|y|n|null|[.]+(?:inf|nan)?|~|[.]?_*(?:e?[-+]?\d.*)?)$/i;
/** Lines of visible characters: a certificate, for example. */
const BLOCK = /^[\x21-\x7e][\x20-\x7e]*(?:\n[\x20-\x7e]+)+\n?$/;

/** Characters that a terminal could obey, or that hide in an editor. JSON escapes only the C0 controls. */
const UNSAFE = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/**
 * YAML that a person can read: blocks, no anchors, nothing folded, and quotes only where they are needed. The library
 * is slower by a factor of ten and makes pages of 10,000 edges slow to export.
 */
export function yamlText(value: JsonObject, indent = ''): string {
  const lines: string[] = [];
  writeObject(value, indent, lines);
  return lines.length === 0 ? '{}\n' : `${lines.join('\n')}\n`;
}

/** A value on one line, for a place after a key. */
export function yamlLine(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(yamlLine).join(', ')}]`;
  return scalarText(value);
}

function writeObject(object: JsonObject, indent: string, lines: string[]): void {
  for (const [name, value] of Object.entries(object)) {
    // As in JSON.
    if (value === undefined) continue;
    const key = scalarText(name);
    if (key.length > MAX_SIMPLE_KEY) {
      lines.push(`${indent}? ${key}`);
      writeValue(`${indent}:`, value, indent, lines);
    } else writeValue(`${indent}${key}:`, value, indent, lines);
  }
}

function writeValue(before: string, value: JsonValue, indent: string, lines: string[]): void {
  const inner = `${indent}  `;
  if (Array.isArray(value)) writeList(before, value as readonly JsonValue[], inner, lines);
  else if (isJsonObject(value)) {
    if (Object.keys(value).length === 0) lines.push(`${before} {}`);
    else {
      lines.push(before);
      writeObject(value, inner, lines);
    }
  } else if (typeof value === 'string' && BLOCK.test(value) && !/[ \t]\n|[ \t]$/.test(value)) {
    lines.push(`${before} ${value.endsWith('\n') ? '|' : '|-'}`);
    for (const line of value.replace(/\n$/, '').split('\n')) lines.push(`${inner}${line}`);
  } else lines.push(`${before} ${scalarText(value)}`);
}

function writeList(before: string, list: readonly JsonValue[], inner: string, lines: string[]): void {
  const flow = list.every((item) => !isJsonObject(item) && !Array.isArray(item))
    ? `[${list.map(scalarText).join(', ')}]`
    : null;
  if (flow !== null && flow.length <= MAX_FLOW_LIST) {
    lines.push(`${before} ${flow}`);
    return;
  }
  lines.push(before);
  for (const item of list) {
    // JSON is YAML: a list in a list is rare.
    if (!isJsonObject(item) || Object.keys(item).length === 0) {
      lines.push(`${inner}- ${scalarText(item)}`);
      continue;
    }
    const own: string[] = [];
    writeObject(item, `${inner}  `, own);
    const [first = '', ...rest] = own;
    lines.push(`${inner}- ${first.slice(inner.length + 2)}`, ...rest);
  }
}

function scalarText(value: JsonValue): string {
  if (typeof value === 'string' && isPlain(value)) return value;
  // JSON is YAML.
  return JSON.stringify(value).replaceAll(UNSAFE, escaped);
}

function isPlain(text: string): boolean {
  return ADDRESS.test(text) || (PLAIN.test(text) && !PLAIN_START.test(text) && !OTHER_TYPE.test(text));
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

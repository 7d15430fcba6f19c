import { MAX_SENT_LENGTH } from './header-config.ts';
import { type ReadValue, type Variable, variableOf } from './variables.ts';

/** A value with its variables, parsed once. */
export interface Template {
  /** The value, if it has no variable. */
  readonly text: string | null;
  /** Whether it says something that a visitor must not be able to say. */
  readonly isVouched: boolean;
  /** Whether it depends on the path of the request. */
  readonly readsPath: boolean;
  readonly read: ReadValue;
}

// The parts of a name start with different characters, so that this takes linear time.
const VARIABLE = /\$\{ *\.?([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_-]+|\['[^']*'\])*) *\}/y;
const STEP = /\.?([A-Za-z0-9_-]+)|\['([^']*)'\]/g;

/** `${name}` is a variable, and `$${` the text `${`. */
export function parseTemplate(value: string): Template | { readonly problem: string } {
  const parts: (string | Variable)[] = [];
  let at = 0;
  while (at < value.length) {
    const start = value.indexOf('$', at);
    if (start === -1) break;
    parts.push(value.slice(at, start));
    if (value.startsWith('$${', start)) {
      parts.push('${');
      at = start + 3;
    } else if (value.startsWith('${', start)) {
      VARIABLE.lastIndex = start;
      const [whole, name] = VARIABLE.exec(value) ?? [];
      if (whole === undefined || name === undefined)
        return { problem: `has "\${" without a name and "}" after it: write "$\${" for the characters themselves` };
      const variable = variableOf(stepsOf(name));
      if (variable === null) return { problem: `has the variable "${name.slice(0, 80)}", which does not exist` };
      parts.push(variable);
      at = start + whole.length;
    } else {
      parts.push('$');
      at = start + 1;
    }
  }
  parts.push(value.slice(at));
  return templateOf(parts);
}

function templateOf(parts: readonly (string | Variable)[]): Template {
  const variables = parts.filter((part) => typeof part !== 'string');
  const text = variables.length === 0 ? (parts as readonly string[]).join('') : null;
  return {
    text,
    isVouched: variables.some(({ isVouched }) => isVouched),
    readsPath: variables.some(({ readsPath }) => readsPath),
    read: (source) => {
      if (text !== null) return text;
      let value = '';
      for (const part of parts) {
        const read = typeof part === 'string' ? part : part.read(source);
        // A visitor may send long headers, and a value may name them often.
        if (read === null || value.length + read.length > MAX_SENT_LENGTH) return null;
        value += read;
      }
      return value;
    },
  };
}

function stepsOf(name: string): readonly string[] {
  return Array.from(name.matchAll(STEP), ([, plain, quoted]) => plain ?? quoted ?? '');
}

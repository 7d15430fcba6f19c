import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { failureCode } from '../../lib/error-text.ts';
import { usage } from '../../lib/flags.ts';

/** Source of long and secret values. */
export interface TextSource {
  /** `@FILE` stands for the file's text, `@-` for standard input, `@@…` for a text that starts with `@`. */
  expand(value: string, flagName: string): Promise<string>;
  /** Text of a file, or of standard input for `-`. */
  read(path: string, flagName: string): Promise<string>;
}

export function createTextSource(readStdin: () => Promise<string> = () => textOf(process.stdin)): TextSource {
  // Standard input can be read only once.
  let stdin: Promise<string> | undefined;
  const read = async (path: string, flagName: string): Promise<string> => {
    if (path === '-') {
      stdin ??= readStdin();
      return stdin;
    }
    try {
      return await readFile(path, 'utf8');
    } catch (cause) {
      const reason = failureCode(cause);
      throw usage(`--${flagName}: cannot read the file ${path} (${reason})`);
    }
  };
  return {
    read,
    expand: async (value, flagName) => {
      if (!value.startsWith('@')) return value;
      if (value.startsWith('@@')) return value.slice(1);
      return withoutLineEnd(await read(value.slice(1), flagName));
    },
  };
}

/** Editors and echo append a line end; a password has none. Texts of several lines stay as they are. */
function withoutLineEnd(text: string): string {
  return /^[^\n]*\n$/.test(text) ? text.replace(/\r?\n$/, '') : text;
}

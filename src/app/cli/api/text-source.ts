import { whyUnreadable } from '../../../kit/error-text.ts';
import { usage } from '../../../kit/flags.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json.ts';
import { gatherBounded, readBounded } from '../../../kit/read-bounded.ts';

/** A body of the API and a configuration are smaller than this. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Source of long and secret values. */
export interface TextSource {
  /** `@FILE` stands for the file's text, `@-` for standard input, `@@…` for a text that starts with `@`. */
  expand(value: string, flagName: string): Promise<string>;
  /** Text of a file, or of standard input for `-`. */
  read(path: string, flagName: string): Promise<string>;
}

export function createTextSource(readStdin: () => Promise<string> = readStandardInput): TextSource {
  // Standard input can be read only once.
  let stdin: Promise<string> | undefined;
  const read = async (path: string, flagName: string): Promise<string> => {
    if (path === '-') {
      stdin ??= readStdin();
      return stdin;
    }
    try {
      return (await readBounded(path, MAX_BYTES)).toString();
    } catch (cause) {
      throw usage(`--${flagName}: cannot read the file ${path}: ${whyUnreadable(cause)}`);
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

async function readStandardInput(): Promise<string> {
  const bytes = await gatherBounded(process.stdin, MAX_BYTES).catch((cause: unknown) => {
    throw usage(`cannot read standard input: ${whyUnreadable(cause)}`);
  });
  return bytes.toString();
}

/** Editors and echo append a line end; a password has none. Texts of several lines stay as they are. */
function withoutLineEnd(text: string): string {
  return /^[^\n]*\n$/.test(text) ? text.replace(/\r?\n$/, '') : text;
}

/** The object in the JSON or YAML file that `--from-file` names. */
export async function fileObject(file: string, source: TextSource): Promise<JsonObject> {
  const text = await source.read(file, 'from-file');
  // Loaded when it is needed: the parser takes a third of the start of a command.
  const [{ readYaml }, { plainValue }] = await Promise.all([
    import('../../../kit/text/yaml/read-yaml.ts'),
    import('../../../kit/text/yaml/plain-yaml.ts'),
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

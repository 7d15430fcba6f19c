import type { TObject, TSchema } from 'typebox';
import { type JsonObject, type JsonValue, pathOf, withValue } from '../lib/json.ts';
import { type BodyDecoder, createDecoder } from '../lib/schema/decode-body.ts';
import type { FieldProblem } from '../lib/schema/field-problem.ts';
import { isObjectSchema } from '../lib/schema/schema-facts.ts';
import { fileFieldName } from './file-form.ts';
import type { FileSecret, WireBody } from './wire-body.ts';

export interface ConfigCheck {
  readonly schema: TObject;
  readonly body: WireBody;
  readonly normalize?: (config: JsonObject) => JsonObject;
  /** Rules beyond the schema; secrets have a placeholder. */
  readonly check: (config: JsonObject) => readonly FieldProblem[];
  /** The form of what has passed the check. */
  readonly finish?: (config: JsonObject) => JsonObject;
}

export interface CheckedConfig {
  /** Every field but secrets, with defaults; null after problems. */
  readonly config: JsonObject | null;
  readonly problems: readonly FieldProblem[];
}

const PLACEHOLDER = 'placeholder';
const decoders = new WeakMap<TObject, BodyDecoder>();

/** Decodes a body by its schema, as the server does. Values of secrets are not known here, and not judged. */
export function checkConfig({ schema, body, normalize, check, finish }: ConfigCheck): CheckedConfig {
  const given = [...body.secrets.keys()];
  const isAboutSecret = ({ path }: FieldProblem): boolean =>
    given.some((pointer) => path === pointer || path.startsWith(`${pointer}/`));
  const decoded = decoderOf(schema).decode(body.body);
  const problems = decoded.ok ? [] : decoded.problems.filter((problem) => !isAboutSecret(problem));
  if (!decoded.ok) return { config: null, problems: problems.length > 0 ? problems : decoded.problems };
  const config = normalize?.(decoded.value) ?? decoded.value;
  const whole = [...body.secrets].reduce(
    (result, [pointer, secret]) => withValue(result, pathOf(pointer), placeholderOf(secret)),
    config,
  );
  const found = check(whole).filter((problem) => !isAboutSecret(problem));
  return { config: found.length === 0 ? (finish?.(config) ?? config) : config, problems: found };
}

/** The path of a problem with the names of the file. */
export function shownPath(schema: TObject, path: string): readonly string[] {
  let at: TSchema | undefined = schema;
  return path
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((name) => {
      const field: TSchema | undefined =
        at !== undefined && isObjectSchema(at) && Object.hasOwn(at.properties, name) ? at.properties[name] : undefined;
      const shown = field === undefined ? name : fileFieldName(name, field);
      at = field ?? (at as { readonly items?: TSchema } | undefined)?.items;
      return shown;
    });
}

function decoderOf(schema: TObject): BodyDecoder {
  const known = decoders.get(schema);
  if (known !== undefined) return known;
  const decoder = createDecoder(schema);
  decoders.set(schema, decoder);
  return decoder;
}

function placeholderOf(secret: FileSecret): JsonValue {
  if (secret === '') return '';
  return secret instanceof Map
    ? Object.fromEntries([...secret.keys()].map((name: string) => [name, PLACEHOLDER]))
    : PLACEHOLDER;
}

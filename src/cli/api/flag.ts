import type { TSchema } from 'typebox';

/**
 * `text` is sent as it is; `switch` is `--x` or `--no-x`; `list` and `map` may be repeated or separated by commas;
 * `object` and `json` are JSON.
 */
export type FlagKind = 'text' | 'number' | 'switch' | 'list' | 'map' | 'object' | 'json' | 'repeated';

/** A flag of `postern api RESOURCE VERB`. */
export interface Flag {
  /** Without dashes. */
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly kind: FlagKind;
  readonly description: string;
  /** Placeholder of the value in the help. */
  readonly hint: string;
  readonly target: FlagTarget;
  readonly isRequired?: boolean;
  readonly isSecret?: boolean;
  readonly choices?: readonly string[];
  /** The value is a file name. */
  readonly isFile?: boolean;
  readonly schema?: TSchema;
}

export type FlagTarget =
  | { readonly in: 'path'; readonly name: string }
  | { readonly in: 'query'; readonly name: string }
  | { readonly in: 'body'; readonly path: readonly string[] }
  /** For the command itself. */
  | { readonly in: 'command' };

/** Parsed as JSON when it looks like JSON, whatever the field's own short form. */
export function canBeJson({ kind }: Flag): boolean {
  return kind === 'list' || kind === 'map' || kind === 'object' || kind === 'json';
}

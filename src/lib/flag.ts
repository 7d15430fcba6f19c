/**
 * `text` is one value; `switch` is `--x` or `--no-x`; `repeated` may be given several times; `list` and `map` too, and
 * separate their items with commas; `object` and `json` are JSON.
 */
export type FlagKind = 'text' | 'number' | 'switch' | 'list' | 'map' | 'object' | 'json' | 'repeated';

/** A flag of a command. The parser, `--help`, completion and docs/reference/cli.md read the same rows. */
export interface Flag {
  /** Without dashes. */
  readonly name: string;
  /** One letter is a short form: `o` for `-o`. */
  readonly aliases?: readonly string[];
  readonly kind: FlagKind;
  /** Placeholder of the value in the help. */
  readonly hint: string;
  /** Sentences. */
  readonly description: string;
  /** Where the value comes from without the flag. */
  readonly default?: string | undefined;
  /** For a switch: without the flag it is on, so the help lists `--no-x`. */
  readonly isOnByDefault?: boolean;
  readonly isRequired?: boolean;
  readonly isSecret?: boolean;
  readonly choices?: readonly string[];
  /** The value is a file name. */
  readonly isFile?: boolean;
}

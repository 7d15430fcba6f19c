/**
 * Findings are data, as errors are: the owner of a subject declares in a table what can be wrong with it, each kind
 * with a code, a level, its text and its advice. Checks, nodes and commands report findings of their tables; `postern
 * doctor`, `postern status`, GET /problems and the console show them.
 */

/**
 * `ok`: checked, and fine. `hint`: worth knowing, or not detectable from here. `warning`: will become a problem, or
 * allows more than may be intended. `problem`: something does not work; only this level fails the command.
 */
export type Level = 'ok' | 'hint' | 'warning' | 'problem';

export const LEVELS: readonly Level[] = ['ok', 'hint', 'warning', 'problem'];

export interface Finding {
  readonly level: Level;
  /** The check that found it; a stable name. */
  readonly check: string;
  /** The kind of finding. Null: nothing is wrong, or a server has found it, whose list has no codes. */
  readonly code: string | null;
  readonly message: string;
  /** What to do. */
  readonly advice?: string;
  /** The object that it is about; absent for several, and for none of the API. */
  readonly about?: FoundObject;
}

/** What a node or another part reports about itself. Readers add who reported it. */
export type ReportedFinding = Pick<Finding, 'code' | 'message' | 'advice' | 'about'>;

export interface FoundObject {
  readonly id: string;
  /** The edge of a route. */
  readonly parentId?: string;
}

/** A text, or a function that writes it from what is known about one case. */
type Told = string | ((details: never) => string);

/** One thing that can be wrong. Only a hint may come without advice. */
export type FindingKind =
  | { readonly level: 'hint'; readonly text: Told; readonly advice?: Told }
  | { readonly level: 'warning' | 'problem'; readonly text: Told; readonly advice: Told };

type Needed<Text> = Text extends (details: infer Details) => string ? Details : unknown;

/** What the texts of a kind need to know; null does where both are fixed. */
type DetailsOf<Kind extends FindingKind> = Needed<Kind['text']> & Needed<Kind['advice']>;

export interface FindingTable<Kinds extends Readonly<Record<string, FindingKind>>> {
  readonly check: string;
  /** By code, which is unique in the program. */
  readonly kinds: Kinds;
  readonly found: <Code extends keyof Kinds & string>(
    code: Code,
    details: DetailsOf<Kinds[Code]>,
    about?: FoundObject,
  ) => Finding;
  readonly ok: (message: string) => Finding;
}

/** One table per check, or several where a check has several owners. */
export function findingTable<const Kinds extends Readonly<Record<string, FindingKind>>>(
  check: string,
  kinds: Kinds,
): FindingTable<Kinds> {
  return {
    check,
    kinds,
    found: (code, details, about) => {
      const { level, text, advice } = kinds[code] as FindingKind;
      return {
        ...{ level, check, code, message: told(text, details) },
        ...(advice !== undefined && { advice: told(advice, details) }),
        ...(about !== undefined && { about }),
      };
    },
    ok: (message) => ({ level: 'ok', check, code: null, message }),
  };
}

function told(text: Told, details: unknown): string {
  return typeof text === 'string' ? text : text(details as never);
}

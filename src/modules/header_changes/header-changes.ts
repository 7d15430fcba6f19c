import { type HeaderList, HOP_BY_HOP } from '../../kit/http/header-values.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { SharedPorts, SharedRuntime, SharedState } from '../contract/keeps-state.ts';
import { type HeaderConfig, isSecretName, isSendable, MAX_NAME_LENGTH } from './header-config.ts';
import { parseTemplate, type Template, type ValueSource } from './template.ts';

/** Counts the values that could not be sent. It is also the runtime of both modules. */
export interface HeaderChangesState extends SharedState {
  /** By the name of the module. */
  readonly leftOut: (module: string) => void;
}

/** What the modules that change headers share. */
export const headerChanges: SharedRuntime<HeaderChangesState> = {
  name: 'header_changes',
  open: async (ports: SharedPorts) => ({
    leftOut: ports.counter({
      name: 'postern_header_values_left_out_total',
      help: 'Headers that a module did not add, because their value could not be sent.',
      label: 'module',
    }),
    close: async () => {},
  }),
};

/** The first header whose value is made of the path; null: there is none. */
export function pathHeader({ add }: HeaderConfig): string | null {
  const name = Object.keys(add).find((each) => {
    const template = parseTemplate(add[each] ?? '');
    return 'problem' in template || template.readsPath;
  });
  return name === undefined ? null : `add ${name}`;
}

/** Headers that a module adds, with their values parsed. */
export class AddedHeaders {
  readonly #headers: readonly (readonly [string, Template])[];
  /** The list, if no value has a variable. */
  readonly fixed: HeaderList | null;
  readonly #leftOut: () => void;

  /** Throws on a value that nothing could have stored. */
  constructor(add: Readonly<Record<string, string>>, leftOut: () => void) {
    const given = Object.entries(add).filter(([name, value]) => value !== '' || !isSecretName(name));
    this.#headers = given.map(([name, value]) => {
      const template = parseTemplate(value);
      if ('problem' in template) throw new Error(`the value of ${name} ${template.problem}`);
      return [name, template] as const;
    });
    this.fixed = this.#headers.every(([, { text }]) => text !== null)
      ? this.#headers.flatMap(([name, { text }]) => [name, text as string])
      : null;
    this.#leftOut = leftOut;
  }

  /** Names with a value that the visitor must not be able to send. */
  get vouchedNames(): readonly string[] {
    return this.#headers.filter(([, { isVouched }]) => isVouched).map(([name]) => name);
  }

  /** For one request, where a value has a variable. */
  list(source: ValueSource): HeaderList {
    const list: string[] = [];
    for (const [name, template] of this.#headers) {
      const value = template.read(source)?.trim();
      if (value !== undefined && isSendable(value)) list.push(name, value);
      else this.#leftOut();
    }
    return list;
  }
}

/** CGI folds other characters into names of other headers, as it does with "x_forwarded_for". */
const NAME = /^[a-z0-9-]+$/;

/**
 * Names that the edge computes, or that upstreams and clients trust because the edge or a module sets them. A changed
 * Content-Encoding would contradict the body.
 */
const RESERVED = new RegExp(
  `^(?:content-length|content-encoding|expect|proxy-.*|sec-websocket-.*|postern-.*|client-cert.*|ngrok-(?:auth|mtls)-.*|${HOP_BY_HOP.join('|')})$`,
);

/** Why a module may not touch a header, by its name in lower case; null: it may. */
export type Objection = (name: string, act: 'add' | 'remove', config: HeaderConfig) => string | null;

/** The problems of a configuration as it was sent: names in any case. */
export function headerProblems(config: HeaderConfig, objection: Objection): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  const object = (field: 'add' | 'remove', sent: string, seen: Set<string>): void => {
    const name = sent.toLowerCase();
    const problem = seen.has(name)
      ? `has "${sent}" twice: header names are case-insensitive`
      : nameProblem(name, () => objection(name, field, config));
    seen.add(name);
    if (problem !== null) problems.push(bodyProblem(field, problem));
  };
  const [added, removed] = [new Set<string>(), new Set<string>()];
  for (const [name, value] of Object.entries(config.add)) {
    object('add', name, added);
    const problem = valueProblem(value);
    if (problem !== null) problems.push(bodyProblem('add', `has a value for "${name.slice(0, 80)}" that ${problem}`));
  }
  for (const name of config.remove) object('remove', name, removed);
  return problems;
}

function nameProblem(name: string, objection: () => string | null): string | null {
  const shown = JSON.stringify(name.slice(0, 80));
  if (name.length > MAX_NAME_LENGTH || !NAME.test(name))
    return `has the name ${shown}: use letters, digits and hyphens, at most ${MAX_NAME_LENGTH} characters`;
  if (RESERVED.test(name)) return `must not contain ${shown}: the edge sets or reads it itself`;
  return objection();
}

function valueProblem(value: string): string | null {
  if (!isSendable(value)) return 'has control characters, characters outside Latin-1, or spaces at its start or end';
  const template = parseTemplate(value);
  return 'problem' in template ? template.problem : null;
}

import { HOP_BY_HOP } from '../../lib/http/hop-by-hop.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { type HeaderConfig, isSendable, MAX_NAME_LENGTH } from './header-config.ts';
import { parseTemplate } from './template.ts';

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

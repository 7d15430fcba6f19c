import { type Finding, findingMaker } from '../../checks/check.ts';
import type { Transport } from '../../client/transport.ts';

/** As many as the server gives at once. */
const LIMIT = 200;

interface Report {
  readonly problems: readonly {
    readonly severity: 'problem' | 'warning' | 'hint';
    readonly check: string;
    readonly message: string;
    readonly advice: string | null;
    readonly object: { readonly id: string } | null;
  }[];
  readonly passed: readonly { readonly check: string; readonly count: number; readonly messages: readonly string[] }[];
  readonly more: number;
  readonly skipped_checks: readonly string[];
}

export interface ServerFindings {
  readonly findings: readonly Finding[];
  /** Checks about objects that the key may not read. */
  readonly skipped: readonly string[];
}

/** The list of `GET /problems`, which the console shows too, with what is fine. */
export async function serverFindings(transport: Transport): Promise<ServerFindings> {
  const answer = await transport.send({ method: 'GET', path: `/problems?limit=${LIMIT}` });
  const { problems, passed, more, skipped_checks: skipped } = JSON.parse(answer.text) as Report;
  const problemsOfServer = findingMaker('problems');
  const findings: readonly Finding[] = [
    ...passed.flatMap(fineOnes),
    ...problems.map(({ severity, check, message, advice, object }) => ({
      ...{ level: severity, check, message },
      ...(advice !== null && { advice }),
      ...(object !== null && { about: { id: object.id } }),
    })),
    ...(more === 0 ? [] : [problemsOfServer.hint(`there are ${more} more`, 'remove the causes of those above first')]),
  ];
  return { findings, skipped };
}

/** Checks that were left out, as findings. */
export function skippedFindings(skipped: readonly string[]): readonly Finding[] {
  return skipped.map((check) => findingMaker(check).warning(NOT_READABLE, 'use a key with the scope *:read'));
}

function fineOnes({ check, count, messages }: Report['passed'][number]): readonly Finding[] {
  if (count > messages.length) return [{ level: 'ok', check, message: `${count} are ok` }];
  return messages.map((message) => ({ level: 'ok', check, message }));
}

const NOT_READABLE = 'check failed: the API key has no scope to read what it is about';

import type { Transport } from '../../../client/transport.ts';
import { type Finding, findingTable, LEVELS, type Level } from '../../../kit/findings.ts';
import { wrapText } from '../../../kit/text/terminal-text.ts';
import { printable } from '../output/cell-text.ts';

/** Further lines add no information: a thousand fine hosts are summarized in one line. */
const MAX_FINE_LINES = 10;
const MIN_TEXT = 24;
/** A person copies it: a line break of ours would cut it. */
const COMMAND = /\bpostern \w/;

type Counts = Readonly<Record<Level, number>>;

export function countByLevel(findings: readonly Finding[]): Counts {
  const counts = { ok: 0, hint: 0, warning: 0, problem: 0 };
  for (const { level } of findings) counts[level] += 1;
  return counts;
}

/**
 * For people: one line per finding, the advice below it, and a summary. `columns`: those of the terminal, which breaks
 * lines elsewhere; null: a pipe.
 */
export function textReport(findings: readonly Finding[], columns: number | null): readonly string[] {
  const shown = withoutRepetition(findings);
  const levelWidth = Math.max(...LEVELS.map((level) => level.length)) + 2;
  const checkWidth = Math.max(...shown.map(({ check }) => check.length)) + 2;
  const indent = levelWidth + checkWidth;
  const room = columns === null ? Number.POSITIVE_INFINITY : Math.max(MIN_TEXT, columns - indent);
  const lines = shown.flatMap(({ level, check, message, advice }) => {
    const texts = [message, ...(advice === undefined ? [] : [advice])];
    return texts
      .flatMap((text) => (COMMAND.test(text) ? [printable(text)] : wrapText(printable(text), room)))
      .map(
        (text, at) =>
          `${at === 0 ? `${level.padEnd(levelWidth)}${check.padEnd(checkWidth)}` : ' '.repeat(indent)}${text}`,
      );
  });
  return [...lines, '', summary(countByLevel(findings))];
}

/** For programs. */
export function jsonReport(findings: readonly Finding[]): string {
  const counts = countByLevel(findings);
  return JSON.stringify({ ok: counts.problem === 0, counts, findings: findings.map(shownFinding) });
}

/** Without the object, whose id is in the message, and without the code. */
export function shownFinding({ level, check, message, advice }: Finding): Omit<Finding, 'about' | 'code'> {
  return { level, check, message, ...(advice !== undefined && { advice }) };
}

function summary({ problem, warning, hint, ok }: Counts): string {
  return `${counted(problem, 'problem')}, ${counted(warning, 'warning')}, ${counted(hint, 'hint')}, ${ok} ok`;
}

function counted(count: number, noun: string): string {
  return `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`;
}

function withoutRepetition(findings: readonly Finding[]): readonly Finding[] {
  const fine = new Map<string, number>();
  for (const { level, check } of findings) if (level === 'ok') fine.set(check, (fine.get(check) ?? 0) + 1);
  const said = new Set<string>();
  return findings.flatMap((finding) => {
    const count = fine.get(finding.check) ?? 0;
    if (finding.level !== 'ok' || count <= MAX_FINE_LINES) return [finding];
    if (said.has(finding.check)) return [];
    said.add(finding.check);
    return [{ ...finding, message: `${count} are ok` }];
  });
}

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

interface ServerFindings {
  readonly findings: readonly Finding[];
  /** Checks about objects that the key may not read. */
  readonly skipped: readonly string[];
}

const ofList = findingTable('problems', {
  problems_not_listed: {
    level: 'hint',
    text: ({ more }: { readonly more: number }) => `there are ${more} more`,
    advice: 'remove the causes of those above first',
  },
});

/** The list of `GET /problems`, which the console shows too, with what is fine. */
export async function serverFindings(transport: Transport): Promise<ServerFindings> {
  const answer = await transport.send({ method: 'GET', path: `/problems?limit=${LIMIT}` });
  const { problems, passed, more, skipped_checks: skipped } = JSON.parse(answer.text) as Report;
  const findings: readonly Finding[] = [
    ...passed.flatMap(fineOnes),
    ...problems.map(({ severity, check, message, advice, object }) => ({
      ...{ level: severity, check, code: null, message },
      ...(advice !== null && { advice }),
      ...(object !== null && { about: { id: object.id } }),
    })),
    ...(more === 0 ? [] : [ofList.found('problems_not_listed', { more })]),
  ];
  return { findings, skipped };
}

const SKIPPED = {
  check_not_allowed: {
    level: 'warning',
    text: 'check failed: the API key has no scope to read what it is about',
    advice: 'use a key with the scope *:read',
  },
} as const;

/** Checks that were left out, as findings. */
export function skippedFindings(skipped: readonly string[]): readonly Finding[] {
  return skipped.map((check) => findingTable(check, SKIPPED).found('check_not_allowed', null));
}

function fineOnes({ check, count, messages }: Report['passed'][number]): readonly Finding[] {
  const { ok } = findingTable(check, {});
  return count > messages.length ? [ok(`${count} are ok`)] : messages.map(ok);
}

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = 'docs/internals/decisions';
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Such as `[decision 46](0046-a-channel-for-hops.md)`. */
const LINK = String.raw`\[decision \d+\]\(\d{4}-[\w-]+\.md\)`;
const STATUS = new RegExp(`^Status: (accepted|accepted, amended by ${LINK}(?:, ${LINK})*|superseded by ${LINK})$`);

export const name = 'tools/generators/decisions.ts';

/** The table of decision records, from their first lines. */
export async function generate(): Promise<Map<string, string>> {
  const page = `# Decisions

<!-- Generated from the records by "npm run generate". Do not edit. -->

A decision record describes a choice that is costly to reverse: the context, the choice, the rejected alternatives, and the price. A new record gets the next free number. Its third line is its status: \`Status: accepted\`. When a later decision changes or replaces it, the line becomes \`Status: accepted, amended by\` or \`Status: superseded by\` with a link such as "decision 12", and the later record links the earlier one.

| | decision | status |
|---|---|---|
${decisionRows(await readRecords()).join('\n')}
`;
  return new Map([[`${FOLDER}/README.md`, page]]);
}

async function readRecords(): Promise<ReadonlyMap<string, string>> {
  const files = (await readdir(join(root, FOLDER))).filter((file) => /^\d{4}-.*\.md$/.test(file)).toSorted();
  const texts = files.map(
    async (file): Promise<[string, string]> => [file, await readFile(join(root, FOLDER, file), 'utf8')],
  );
  return new Map(await Promise.all(texts));
}

/** One row for each record: its file name and its text. Throws if the heading or the status of a record is wrong. */
export function decisionRows(records: ReadonlyMap<string, string>): readonly string[] {
  const numbers = new Set<number>();
  return Array.from(records, ([file, text]) => {
    const expected = numberOf(file);
    if (numbers.has(expected)) throw wrong(file, 'has the number of another record: take the next free one');
    numbers.add(expected);
    const [heading = '', , statusLine = ''] = text.split('\n');
    const [, number, title] = /^# (\d+)\. (.+)$/.exec(heading) ?? [];
    if (number === undefined || Number(number) !== expected)
      throw wrong(file, `must begin with "# ${expected}. Title"`);
    const [, status] = STATUS.exec(statusLine) ?? [];
    if (status === undefined)
      throw wrong(
        file,
        'needs a status in its third line: "Status: accepted", "Status: accepted, amended by [decision N](FILE)" or "Status: superseded by [decision N](FILE)"',
      );
    checkLater(file, status, records);
    return `| ${number} | [${title}](${file}) | ${status} |`;
  });
}

/** A reader of either record must find the other one. */
function checkLater(file: string, status: string, records: ReadonlyMap<string, string>): void {
  for (const [, number, later = ''] of status.matchAll(/\[decision (\d+)\]\(([^)]+)\)/g)) {
    const text = records.get(later);
    if (text === undefined || numberOf(later) !== Number(number) || numberOf(later) <= numberOf(file))
      throw wrong(file, `names decision ${number} in its status, but ${later} is not that later record`);
    if (!text.includes(`](${file})`)) throw wrong(later, `must link ${file}, whose status names it`);
  }
}

function numberOf(file: string): number {
  return Number(file.slice(0, 4));
}

function wrong(file: string, problem: string): Error {
  return new Error(`${FOLDER}/${file} ${problem}`);
}

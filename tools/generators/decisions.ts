import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = 'docs/internals/decisions';
const root = fileURLToPath(new URL('../..', import.meta.url));

export const name = 'tools/generators/decisions.ts';

/** The table of decision records, from their first lines. */
export async function generate(): Promise<Map<string, string>> {
  const files = (await readdir(join(root, FOLDER))).filter((file) => /^\d{4}-.*\.md$/.test(file)).toSorted();
  const second = files.find((file, at) => file.slice(0, 4) === files[at - 1]?.slice(0, 4));
  if (second !== undefined)
    throw new Error(`${FOLDER}/${second} has the number of another record: take the next free one`);
  const rows = await Promise.all(
    files.map(async (file) => {
      const [heading = ''] = (await readFile(join(root, FOLDER, file), 'utf8')).split('\n');
      const [, number, title] = /^# (\d+)\. (.+)$/.exec(heading) ?? [];
      if (number === undefined || Number(number) !== Number(file.slice(0, 4)))
        throw new Error(`${FOLDER}/${file} must begin with "# ${Number(file.slice(0, 4))}. Title"`);
      return `| ${number} | [${title}](${file}) |`;
    }),
  );
  const page = `# Decisions

<!-- Generated from the records by "npm run generate". Do not edit. -->

A decision record describes a choice that is costly to reverse: the context, the choice, the rejected alternatives, and the price. A new record gets
the next free number.

| | decision |
|---|---|
${rows.join('\n')}
`;
  return new Map([[`${FOLDER}/README.md`, page]]);
}

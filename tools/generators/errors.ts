import { errorTables } from '../../src/app/main/error-tables.ts';
import type { ErrorRow } from '../../src/kit/errors.ts';

const PAGE_PATH = 'docs/reference/errors.md';

export const name = 'errors';

/** Every error code, from the tables of their owners. */
export function generate(): Promise<Map<string, string>> {
  const sections = errorTables.map(({ title, rows }) =>
    [`## ${title}`, '', '| code | status | what happened, and what to do |', '|---|---|---|', ...lines(rows)].join(
      '\n',
    ),
  );
  return Promise.resolve(new Map([[PAGE_PATH, `${[head, ...sections].join('\n\n')}\n`]]));
}

const head = `# Errors

<!-- Generated from the error tables in src/ by "npm run generate". Do not edit. -->

Every error has a stable code. The management API answers with JSON:

\`\`\`json
{
  "error_code": "ERR_POSTERN_NOT_FOUND",
  "status_code": 404,
  "msg": "what is wrong, and what to do about it",
  "details": { "operation_id": "op_…" }
}
\`\`\`

Programs should compare \`error_code\`; \`msg\` is for people and may change. \`details\` is always an object of strings: \`operation_id\` identifies the request in the server's log, and \`field\` is the JSON path of the field in question. A command prints the code with its message and exits with a non-zero status. The status below applies to API responses only.`;

function lines(rows: Readonly<Record<string, ErrorRow>>): readonly string[] {
  return Object.entries(rows).map(
    ([code, { status, explanation }]) => `| \`${code}\` | ${status} | ${explanation.replaceAll('|', '\\|')} |`,
  );
}

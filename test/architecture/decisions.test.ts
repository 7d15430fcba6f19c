import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { decisionRows, generate } from '../../tools/generators/decisions.ts';

const record = (number: number, status: string, text = ''): [string, string] => [
  `000${number}-name.md`,
  `# ${number}. Title\n\n${status}\n\n${text}\n`,
];
const amended = 'Status: accepted, amended by [decision 2](0002-name.md)';

suite('the status of decision records', () => {
  test('is there in every record, and the index shows it', async () => {
    const [page = ''] = (await generate()).values();
    assert.match(page, /^\| 1 \| \[.+\]\(0001-.+\.md\) \| accepted \|$/m);
    assert.match(page, /^\| \d+ \| .+ \| accepted, amended by \[decision \d+\]\(.+\.md\) \|$/m);
  });

  test('names a later record that links the earlier one', () => {
    const later = record(2, 'Status: accepted', 'Changes [decision 1](0001-name.md).');
    for (const status of [amended, 'Status: superseded by [decision 2](0002-name.md)'])
      assert.deepEqual(decisionRows(new Map([record(1, status), later])), [
        `| 1 | [Title](0001-name.md) | ${status.slice('Status: '.length)} |`,
        '| 2 | [Title](0002-name.md) | accepted |',
      ]);
  });

  const rejected: readonly (readonly [string, readonly [string, string][], RegExp])[] = [
    ['a record without one', [record(1, '**Context.** Text.')], /0001-name\.md needs a status/],
    ['a word that is no status', [record(1, 'Status: proposed')], /needs a status/],
    ['a record that is missing', [record(1, amended)], /0002-name\.md is not that later record/],
    [
      'an earlier record',
      [record(2, 'Status: superseded by [decision 1](0001-name.md)'), record(1, 'Status: accepted')],
      /not that later record/,
    ],
    [
      'a link with another number',
      [record(1, 'Status: superseded by [decision 3](0002-name.md)'), record(2, 'Status: accepted')],
      /not that later record/,
    ],
    [
      'a later record without a link back',
      [record(1, amended), record(2, 'Status: accepted')],
      /0002-name\.md must link 0001-name\.md/,
    ],
  ];
  for (const [what, records, problem] of rejected)
    test(`rejects ${what}`, () => {
      assert.throws(() => decisionRows(new Map(records)), problem);
    });
});

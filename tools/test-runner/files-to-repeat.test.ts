import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { filesToRepeat } from './files-to-repeat.ts';

const FILES = Array.from({ length: 100 }, (_, index) => `/project/test/${index}.test.ts`);

function repeated(failures: readonly string[], files: readonly string[] = FILES): readonly string[] {
  return filesToRepeat({ passed: 1, skipped: 0, failures, costs: [] }, files, '/project');
}

suite('files to repeat', () => {
  test('each failing file once', () => {
    const failures = ['test/7.test.ts: one: with a colon', 'test/7.test.ts: two', 'test/8.test.ts: the file itself'];
    assert.deepEqual(repeated(failures), ['/project/test/7.test.ts', '/project/test/8.test.ts']);
  });

  test('the files of the folder for a test that they share', () => {
    const files = [...FILES, '/project/test/shared/a.test.ts'];
    assert.deepEqual(repeated(['test/shared/suite.ts: x'], files), ['/project/test/shared/a.test.ts']);
  });

  test('none if more than three files failed', () => {
    assert.deepEqual(repeated([1, 2, 3, 4].map((index) => `test/${index}.test.ts: x`)), []);
  });

  test('none if a failure belongs to no file', () => {
    assert.deepEqual(repeated(['test/7.test.ts: x', ': unknown']), []);
  });

  test('none if only some files ran', () => {
    assert.deepEqual(repeated(['test/7.test.ts: x'], FILES.slice(0, 99)), []);
  });
});

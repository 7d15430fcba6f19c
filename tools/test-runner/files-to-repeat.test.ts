import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { filesToRepeat } from './files-to-repeat.ts';

const FILES = Array.from({ length: 100 }, (_, index) => `/project/test/${index}.test.ts`);

function repeated(failedFiles: readonly string[], files: readonly string[] = FILES): readonly string[] {
  return filesToRepeat({ passed: 1, skipped: 0, failures: ['x'], failedFiles, costs: [] }, files, '/project');
}

suite('files to repeat', () => {
  test('each failing file', () => {
    const paths = ['/project/test/7.test.ts', '/project/test/8.test.ts'];
    assert.deepEqual(repeated(['test/7.test.ts', 'test/8.test.ts']), paths);
  });

  test('none if many files failed', () => {
    assert.deepEqual(repeated([1, 2, 3, 4, 5, 6, 7].map((index) => `test/${index}.test.ts`)), []);
  });

  test('none if a failure belongs to no file', () => {
    assert.deepEqual(repeated(['test/7.test.ts', '/tmp/batch-001.mjs']), []);
    assert.deepEqual(repeated([]), []);
  });

  test('none if only some files ran', () => {
    assert.deepEqual(repeated(['test/7.test.ts'], FILES.slice(0, 99)), []);
  });
});

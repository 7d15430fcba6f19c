import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersBeforeSync } from './answers-before-sync.ts';
import { parseTrace } from './syscall-trace.ts';

/** One recorded write, abridged: request, two log frames of 24 + 4096 bytes, sync, response. */
const REQUEST = String.raw`712   read(29<TCP:[127.0.0.1:40447->127.0.0.1:51022]>, "POST /ip_policies HTTP/1.1\r\n…\r\n\r\n{\"description\":\"m-1-\"}", 65536) = 288`;
const FRAME_HEAD = String.raw`731   pwrite64(25</data/postern.sqlite-wal>, "\0\0\0\t\0\0\0\0…", 24, 8272) = 24`;
const FRAME = String.raw`731   pwrite64(25</data/postern.sqlite-wal>, "\r\0\0\0…{\"description\":\"m-1-\",\"metadata\":\"\"}…", 4096, 8296) = 4096`;
const SYNC_BEGINS = '731   fdatasync(25</data/postern.sqlite-wal> <unfinished ...>';
const OTHER_THREAD = String.raw`712   write(17<anon_inode:[eventfd]>, "\1\0\0\0\0\0\0\0", 8) = 8`;
const SYNC_ENDS = '731   <... fdatasync resumed>)          = 0';
const ANSWER = String.raw`712   writev(29<TCP:[127.0.0.1:40447->127.0.0.1:51022]>, [{iov_base="HTTP/1.1 201 Created\r\n…", iov_len=300}, {iov_base="{\"id\":\"ipp_…\",\"description\":\"m-1-\"}", iov_len=200}], 2) = 500`;

function judge(...lines: readonly string[]) {
  return answersBeforeSync(parseTrace(lines.join('\n')), ['m-1-']);
}

test('proves request, log, sync, response', () => {
  const report = judge(REQUEST, FRAME_HEAD, FRAME, SYNC_BEGINS, OTHER_THREAD, SYNC_ENDS, ANSWER);
  assert.deepEqual(report, { problems: [], proven: 1, syncs: 1 });
});

test('PRAGMA synchronous = OFF: the log is written and never synced', () => {
  const report = judge(REQUEST, FRAME_HEAD, FRAME, OTHER_THREAD, ANSWER);
  assert.deepEqual(report, { problems: ['m-1-: the log was not synced after it'], proven: 0, syncs: 0 });
});

test('detects a response during the sync', () => {
  const report = judge(REQUEST, FRAME_HEAD, FRAME, SYNC_BEGINS, ANSWER, SYNC_ENDS);
  assert.deepEqual(report.problems, ['m-1-: was answered before the log was synced']);
});

test('a sync that started before the frame was written does not cover it', () => {
  const report = judge(REQUEST, SYNC_BEGINS, SYNC_ENDS, FRAME_HEAD, FRAME, ANSWER);
  assert.deepEqual(report.problems, ['m-1-: the log was not synced after it']);
});

test('a failed sync does not count', () => {
  const failed = '731   <... fdatasync resumed>)          = -1 EIO (Input/output error)';
  const report = judge(REQUEST, FRAME, SYNC_BEGINS, failed, ANSWER);
  assert.deepEqual(report, { problems: ['m-1-: the log was not synced after it'], proven: 0, syncs: 0 });
});

test('a sync of another file does not count', () => {
  const other = '731   fdatasync(24</data/postern.sqlite>) = 0';
  assert.deepEqual(judge(REQUEST, FRAME, other, ANSWER).problems, ['m-1-: the log was not synced after it']);
});

test('detects a response without a log entry', () => {
  const report = judge(REQUEST, SYNC_BEGINS, SYNC_ENDS, ANSWER);
  assert.deepEqual(report.problems, ['m-1-: was never written to the log']);
});

test('a write that the trace does not show proves nothing', () => {
  assert.deepEqual(judge(OTHER_THREAD).problems, ['m-1-: request or answer is not in the trace']);
});

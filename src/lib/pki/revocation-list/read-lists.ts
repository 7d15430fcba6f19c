import { SliceLane, TimeSlice } from '../../async/slice-lane.ts';
import { derOf, type PemBlock, scanPem } from '../pem-blocks.ts';
import { ListProblem } from './list-problem.ts';
import type { RevocationList } from './revocation-list.ts';
import { scanList } from './scan-list.ts';

const MAX_LISTS = 16;
/** RFC 7468 §6; some programs write the second. */
const LABELS: readonly string[] = ['X509 CRL', 'CRL'];
const LANE = new SliceLane();

/** The lists in a PEM text, in one go: only for texts of limited length. Throws ListProblem. */
export function listsInPem(pem: string): readonly RevocationList[] {
  return atOnce(pemLists(pem));
}

/** The lists in a response: DER (RFC 2585) or PEM. Other work continues in between. Throws ListProblem. */
export async function listsInBytes(bytes: Buffer): Promise<readonly RevocationList[]> {
  const isPem = bytes.subarray(0, 65_536).includes('-----BEGIN');
  return isPem ? inSlices(pemLists(bytes.toString('latin1'))) : [await inSlices(scanList(bytes))];
}

function* pemLists(pem: string): Generator<void, readonly RevocationList[]> {
  const lists: RevocationList[] = [];
  for (const block of yield* listBlocks(pem)) lists.push(yield* scanList(encodedIn(block)));
  return lists;
}

function* listBlocks(pem: string): Generator<void, readonly PemBlock[]> {
  try {
    const blocks = yield* scanPem(pem, MAX_LISTS);
    if (blocks.length === 0) throw new Error('it contains no "X509 CRL" block');
    const foreign = blocks.find(({ label }) => !LABELS.includes(label))?.label.slice(0, 40);
    if (foreign !== undefined) throw new Error(`it contains a "${foreign}" block; only "X509 CRL" blocks are allowed`);
    return blocks;
  } catch (error) {
    throw notPem(error);
  }
}

function encodedIn(block: PemBlock): Buffer {
  try {
    return derOf(block);
  } catch (error) {
    throw notPem(error);
  }
}

function notPem(error: unknown): ListProblem {
  return new ListProblem(`is not a revocation list in PEM (${error instanceof Error ? error.message : 'unreadable'})`);
}

function atOnce<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

async function inSlices<Result>(steps: Generator<void, Result>): Promise<Result> {
  const slice = new TimeSlice(LANE);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slice.isOver) await slice.next();
  }
}

import { loadPart } from '../../../kit/load-part.ts';

/** Where identity is off, its libraries cost neither memory nor time. */
export async function loadIdentity(): Promise<typeof import('./identity.ts')> {
  const { warn } = console;
  // The library warns of every runtime that does not name its long-term release, and the builds of Node from npm do
  // not.
  console.warn = () => {};
  try {
    return await loadPart(() => import('./identity.ts'));
  } finally {
    console.warn = warn;
  }
}

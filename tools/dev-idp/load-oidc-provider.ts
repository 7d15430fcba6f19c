import type * as OidcProvider from 'oidc-provider';

/**
 * The library warns on import about every Node that is not an LTS release. Readers of our output cannot act on that.
 */
export async function loadOidcProvider(): Promise<typeof OidcProvider> {
  const { warn } = console;
  console.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes('Unsupported runtime')) warn(...words);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}

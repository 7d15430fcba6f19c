import type { ConfiguredBy } from '../../contract/agent-form.ts';
import type { IssuerSource } from './issuer-source.ts';
import { LoginProblem } from './login-problem.ts';
import type { IssuerSources } from './providers.ts';

/** A question of one thread to the thread that has the data of issuers. */
export interface IssuerQuestion {
  readonly configuredBy: ConfiguredBy;
  readonly kind: keyof IssuerSources;
  readonly issuer: string;
  readonly about: keyof IssuerSource<unknown>;
}

/** A problem keeps its kind and reason on the way, which errors lose. */
export type IssuerAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: Pick<LoginProblem, 'kind' | 'reason' | 'message'> };

export async function answerAboutIssuer(
  sources: Readonly<Record<ConfiguredBy, IssuerSources>>,
  { configuredBy, kind, issuer, about }: IssuerQuestion,
): Promise<IssuerAnswer> {
  try {
    return { ok: true, value: await sources[configuredBy][kind](issuer)[about]() };
  } catch (error) {
    if (!(error instanceof LoginProblem)) throw error;
    const { kind: problemKind, reason, message } = error;
    return { ok: false, problem: { kind: problemKind, reason, message } };
  }
}

/** Issuers whose data another thread has. */
export function askedIssuers(
  configuredBy: ConfiguredBy,
  ask: (question: IssuerQuestion) => Promise<IssuerAnswer>,
): IssuerSources {
  const source = (kind: keyof IssuerSources, issuer: string): IssuerSource<never> => {
    const asked = async (about: keyof IssuerSource<unknown>): Promise<never> => {
      const answer = await ask({ configuredBy, kind, issuer, about });
      if (answer.ok) return answer.value as never;
      const { kind: problemKind, reason, message } = answer.problem;
      throw new LoginProblem(problemKind, reason, message);
    };
    return {
      metadata: () => asked('metadata'),
      keys: () => asked('keys'),
      newerKeys: () => asked('newerKeys'),
    };
  };
  return {
    provider: (issuer) => source('provider', issuer),
    tokenIssuer: (issuer) => source('tokenIssuer', issuer),
    tenantIssuer: (endpoint) => source('tenantIssuer', endpoint),
  };
}

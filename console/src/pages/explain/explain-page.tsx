import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, asApiError } from '../../api/api-error.ts';
import { request } from '../../api/request.ts';
import { ErrorNotice, NotAvailable } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { query, setQuery } from '../../router/location.ts';
import { ExplainForm } from './explain-form.tsx';
import { type Explanation, explainBody, type Question } from './explain-record.ts';
import { ExplanationView } from './explanation-view.tsx';

/** What would happen to a request: the code that traffic runs answers, and nothing is fetched or counted. */
export function ExplainPage() {
  const [question, setQuestion] = useState<Question>(() => questionFrom(query.value));
  const [answer, setAnswer] = useState<Explanation | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const lastAsked = useRef<Question | null>(null);
  const ask = async (asked: Question): Promise<void> => {
    const question = { ...asked, url: withScheme(asked.url) };
    setQuestion(question);
    const body = explainBody(question);
    if (typeof body === 'string') {
      setError(new ApiError(400, 'INPUT', body));
      return;
    }
    const { url, method, address, email } = question;
    lastAsked.current = question;
    setQuery({ url, method: method === 'GET' ? '' : method, address, email });
    setBusy(true);
    setError(null);
    try {
      setAnswer((await request<Explanation>('POST', '/explain', { body })).data);
    } catch (failure) {
      setAnswer(null);
      setError(asApiError(failure));
    } finally {
      setBusy(false);
    }
  };
  const asked = query.value.toString();
  // Also for a link to another question while this page is open.
  useEffect(() => {
    const linked = questionFrom(query.value);
    if (linked.url === '' || isSameQuestion(linked, lastAsked.current)) return;
    setQuestion(linked);
    void ask(linked);
  }, [asked]);
  return (
    <>
      <PageHead
        title="Explain"
        hint="What the edge would do with a request, and why. Nothing is sent, no session is touched, no counter moves."
      />
      <div class="grid-2">
        <ExplainForm question={question} isBusy={isBusy} onChange={setQuestion} onAsk={() => void ask(question)} />
        <div class="stack" aria-live="polite">
          {error?.isUnavailable === true && <NotAvailable what="Explain" />}
          {error !== null && !error.isUnavailable && <ErrorNotice error={error} />}
          {answer !== null && <ExplanationView explanation={answer} />}
          {answer === null && error === null && (
            <p class="muted">
              The answer appears here: the edge and the route, each module's decision, and the outcome.
            </p>
          )}
        </div>
      </div>
    </>
  );
}

/** As far as the address of the page says. */
function isSameQuestion(linked: Question, asked: Question | null): boolean {
  if (asked === null) return false;
  return (['url', 'method', 'address', 'email'] as const).every((field) => linked[field] === asked[field]);
}

/** People type a host as in a browser, which asks over HTTPS. */
function withScheme(url: string): string {
  const text = url.trim();
  return text === '' || /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
}

function questionFrom(search: URLSearchParams): Question {
  return {
    url: search.get('url') ?? '',
    method: search.get('method') ?? 'GET',
    address: search.get('address') ?? '',
    email: search.get('email') ?? '',
    claims: '',
    // What a browser sends: a site with a login leads it there, and answers programs with 401.
    headers: 'accept: text/html',
    certificate: '',
  };
}

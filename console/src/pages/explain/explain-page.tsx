import { useEffect, useState } from 'preact/hooks';
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
  const ask = async (): Promise<void> => {
    const body = explainBody(question);
    if (typeof body === 'string') {
      setError(new ApiError(400, 'INPUT', body));
      return;
    }
    const { url, method, address, email } = question;
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
  useEffect(() => {
    if (question.url !== '') void ask();
  }, []);
  return (
    <>
      <PageHead
        title="Explain"
        hint="What the edge would do with a request, and why. Nothing is sent, no session is touched, no counter moves."
      />
      <div class="grid-2">
        <ExplainForm question={question} isBusy={isBusy} onChange={setQuestion} onAsk={() => void ask()} />
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

function questionFrom(search: URLSearchParams): Question {
  return {
    url: search.get('url') ?? '',
    method: search.get('method') ?? 'GET',
    address: search.get('address') ?? '',
    email: search.get('email') ?? '',
    claims: '',
    headers: '',
    certificate: '',
  };
}

import { useState } from 'preact/hooks';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { request } from '../../api/request.ts';
import { Chip } from '../../components/chip.tsx';
import { ErrorNotice } from '../../components/notice.tsx';
import type { ModulePreviewProps } from '../module-view.ts';

interface Review {
  readonly people: readonly {
    readonly email: string;
    readonly allowed: boolean;
    readonly application_user: { id: string };
  }[];
}

const SHOWN = 20;

/** Who of the last 30 days would pass the rules that are being typed. */
export function AccessPreview({ value, path }: ModulePreviewProps) {
  const [review, setReview] = useState<Review | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const ask = async (): Promise<void> => {
    setError(null);
    try {
      setReview((await request<Review>('POST', `${path}/review`, { body: { access: value } })).data);
    } catch (failure) {
      setReview(null);
      setError(asApiError(failure));
    }
  };
  const refused = review?.people.filter(({ allowed }) => !allowed) ?? [];
  return (
    <fieldset class="stack-small">
      <legend>Rehearsal</legend>
      <div>
        <button type="button" onClick={() => void ask()}>
          Who would pass?
        </button>
      </div>
      <div aria-live="polite" class="stack-small">
        {error !== null && <ErrorNotice error={error} />}
        {review !== null && (
          <p>
            Of {review.people.length} people of the last 30 days, {review.people.length - refused.length} would pass and{' '}
            {refused.length} would be refused.
          </p>
        )}
        <p class="line">
          {refused.slice(0, SHOWN).map(({ email, application_user: { id } }) => (
            <Chip key={id} tone="danger">
              {email === '' ? id : email}
            </Chip>
          ))}
        </p>
      </div>
    </fieldset>
  );
}

import { useMemo } from 'preact/hooks';
import { isAllowed } from '../../api/scopes.ts';
import { Chart } from '../../components/chart.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { rateText } from '../../format/amounts.ts';
import { type Series, useSeries } from './overview-data.ts';

export function TrafficHour() {
  const series = useSeries();
  const silent = series.data?.nodes?.filter(({ answered }) => !answered).map(({ name }) => name) ?? [];
  if (!isAllowed('series:read')) return null;
  return (
    <section class="card" aria-label="Traffic of the last hour">
      <header>
        <h2>Last hour</h2>
        {silent.length > 0 && <span class="hint">without {silent.join(', ')}, which did not answer</span>}
      </header>
      <div class="body chart-body">
        <LoadedView loaded={series} what="The time series" lines={8}>
          {(data) => data !== null && <HourCharts series={data} />}
        </LoadedView>
      </div>
    </section>
  );
}

function HourCharts({ series }: { series: Series }) {
  const { times, rates, durations, label } = useMemo(() => {
    const { points, step } = series;
    const perSecond = points.map(({ requests }) => requests / step);
    return {
      times: points.map(({ at }) => Date.parse(at) / 1000),
      rates: [
        { name: 'requests per second', color: '--accent', values: perSecond },
        { name: 'errors per second', color: '--danger', values: points.map(({ errors }) => errors / step) },
      ],
      durations: [
        { name: 'median, ms', color: '--accent', values: points.map(({ p50_ms }) => p50_ms) },
        { name: '95th percentile, ms', color: '--danger', values: points.map(({ p95_ms }) => p95_ms) },
      ],
      label: `Requests per second over the last hour, at most ${rateText(Math.max(0, ...perSecond))}`,
    };
  }, [series]);
  return (
    <div class="grid-2">
      <Chart label={label} times={times} lines={rates} />
      <Chart label="Duration of requests over the last hour" times={times} lines={durations} />
    </div>
  );
}

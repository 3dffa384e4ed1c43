/** Why a run is where it is: a paragraph, a table, and what to do now. */
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Explanation } from '../api/gateway';
import { safeText } from '../parts/words';

/** The answer of `holdfast why`. */
export function WhyPanel({ why }: { readonly why: Explanation | undefined }): JSX.Element {
  const titleId = useId();
  return (
    <section aria-labelledby={titleId} class="why">
      <h2 id={titleId}>Why</h2>
      {why === undefined ? <p class="hint">Loading …</p> : <Answer why={why} />}
    </section>
  );
}

function Answer({ why }: { readonly why: Explanation }): JSX.Element {
  const { paragraph, failed, tried, worked, cost, next } = why;
  return (
    <>
      <p>{safeText(paragraph)}</p>
      <table class="facts">
        <caption class="unseen">What happened, and what it cost</caption>
        <tbody>
          <CountedRow label="Failed" counted={failed} />
          <CountedRow label="Tried" counted={tried} />
          <CountedRow label="Worked" counted={worked} />
          <tr>
            <th scope="row">Cost</th>
            <td>{safeText(cost)}</td>
          </tr>
          <tr>
            <th scope="row">Do now</th>
            <td>
              {next.map(({ text, command }, index) => (
                <p key={index}>
                  {safeText(text)}
                  {command !== undefined && <code class="command">{safeText(command)}</code>}
                </p>
              ))}
            </td>
          </tr>
        </tbody>
      </table>
    </>
  );
}

function CountedRow({
  label,
  counted,
}: {
  readonly label: string;
  readonly counted: Explanation['failed'];
}): JSX.Element {
  return (
    <tr>
      <th scope="row">{label}</th>
      <td>
        {counted.length === 0 && 'nothing'}
        {counted.map(({ what, times }) => (
          <p key={what}>
            {times > 1 && <strong>{times} × </strong>}
            {safeText(what)}
          </p>
        ))}
      </td>
    </tr>
  );
}

// The plan, as a checklist that stays in sight while it is open.
import type { TodoStatus } from "../protocol.ts";
import { visible } from "../messages.ts";
import { Icon } from "./parts.tsx";
import type { Plan } from "./store.ts";

const ICONS: Record<TodoStatus, [icon: string, label: string]> = {
  pending: ["circle-large-outline", "to do"],
  in_progress: ["play-circle", "in progress"],
  completed: ["pass-filled", "done"],
  cancelled: ["circle-slash", "cancelled"],
};

export function PlanList({ plan }: { plan: Plan }) {
  const open = plan.some(({ status }) => status === "pending" || status === "in_progress");
  if (!open) return null;
  const done = plan.filter(({ status }) => status === "completed").length;
  const current = plan.find(({ status }) => status === "in_progress");
  return <details id="plan" open>
    <summary><Icon name="chevron-right" />
      <span>Plan</span> <span class="quiet">{done} of {plan.length} done</span>
      {current && <span class="current">{line(current.text)}</span>}
    </summary>
    <ul aria-label="Plan">
      {plan.map(({ text, status }) => <li class={status}>
        <Icon name={ICONS[status][0]} label={ICONS[status][1]} /> {line(text)}
      </li>)}
    </ul>
  </details>;
}

const line = (text: string): string => visible(text).replace(/\s+/g, " ").trim();

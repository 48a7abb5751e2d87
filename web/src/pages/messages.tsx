import { MessageList } from "../ui/message_list";

export function Messages() {
    return <MessageList queue="outbox" />;
}
